#include "runtime/ops/builtin.h"

#include <array>

namespace hr::ops {

std::span<const std::span<const OpDef>> BuiltinFamilies() {
  static const std::array families = {
      ActivationOps(), BroadcastOps(), CastOps(),      ConvOps(), ElementwiseOps(), LogicOps(),
      MatrixOps(),     MovementOps(),  OptimizerOps(), PoolOps(), ReductionOps(),   ReshapeOps(),
      ShapeOps(),      SoftmaxOps(),   StateOps(),     UnaryOps()};
  return families;
}

}  // namespace hr::ops
