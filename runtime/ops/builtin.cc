#include "runtime/ops/builtin.h"

#include <array>

namespace hr::ops {

std::span<const std::span<const OpDef>> BuiltinFamilies() {
  static const std::array families = {
      ActivationOps(),    BroadcastOps(), CastOps(),  ConvOps(),   ElementwiseOps(),
      GenerateOps(),      IndexingOps(),  LogicOps(), MatrixOps(), MovementOps(),
      NormalizationOps(), OptimizerOps(), PoolOps(),  RandomOps(), ReductionOps(),
      ReshapeOps(),       ScanOps(),      ShapeOps(), SliceOps(),  SoftmaxOps(),
      StateOps(),         UnaryOps()};
  return families;
}

}  // namespace hr::ops
