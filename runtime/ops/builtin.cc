#include "runtime/ops/builtin.h"

#include <array>

namespace hr::ops {

std::span<const std::span<const OpDef>> BuiltinFamilies() {
  static const std::array families = {
#ifndef HEADRACE_WITHOUT_TRAINING
      OptimizerOps(),
#endif
      CausalConvOps(),
      ComposedMovementOps(),
      ComposedNormalizationOps(),
      QuantizationOps(),
      ActivationOps(),
      BroadcastOps(),
      CastOps(),
      ConvOps(),
      EinsumOps(),
      ElementwiseOps(),
      GenerateOps(),
      IndexingOps(),
      LinearAttentionOps(),
      LogicOps(),
      MatrixOps(),
      MovementOps(),
      NormalizationOps(),
      PoolOps(),
      RandomOps(),
      RecurrentOps(),
      ReductionOps(),
      ReshapeOps(),
      ScanOps(),
      SequenceOps(),
      ShapeOps(),
      SliceOps(),
      SoftmaxOps(),
      StateOps(),
      UnaryOps()};
  return families;
}

}  // namespace hr::ops
