#include "runtime/ops/builtin.h"

#include <array>

namespace hr::ops {

std::span<const OpFamily> BuiltinFamilies() {
  static const std::array families = {
#ifndef HEADRACE_WITHOUT_TRAINING
      GradientMarkOps(),
      OptimizerOps(),
#endif
#ifndef HEADRACE_WITHOUT_ML
      MlEncoderOps(),
      MlFeatureOps(),
      MlLinearOps(),
      MlSvmOps(),
      MlTreeOps(),
#endif
      CausalConvOps(),
      CommunicationOps(),
      ComposedMovementOps(),
      ComposedNormalizationOps(),
      QuantizationOps(),
      ActivationOps(),
      AttentionOps(),
      BitOps(),
      BroadcastOps(),
      CastOps(),
      ContainerOps(),
      ControlOps(),
      ConvOps(),
      ConvTransposeOps(),
      DataSizedOps(),
      DeformConvOps(),
      DeterminantOps(),
      EinsumOps(),
      ElementwiseOps(),
      GenerateOps(),
      IndexingOps(),
      LinearAttentionOps(),
      LogicOps(),
      MatrixOps(),
      MovementOps(),
      NGramOps(),
      NormalizationOps(),
      OlderVersions(),
      PackingOps(),
      PoolOps(),
      QuantizedProductOps(),
      RandomOps(),
      RecurrentOps(),
      ReductionOps(),
      RegionOps(),
      ReshapeOps(),
      ResizeOps(),
      SamplingOps(),
      ScanOps(),
      SequenceOps(),
      ShapeOps(),
      SignalOps(),
      SliceOps(),
      SoftmaxOps(),
      StateOps(),
      UnaryOps(),
      UnfoldOps()};
  return families;
}

namespace {

// The definition of that name for which better(def, best so far).
template <typename Better>
const OpDef& BestOf(std::string_view name, Better&& better) {
  const OpDef* best = nullptr;
  for (const OpFamily& family : BuiltinFamilies()) {
    for (const OpDef& def : family) {
      if (def.domain == kOnnx && def.name == name && better(def, best)) best = &def;
    }
  }
  return *best;
}

}  // namespace

const OpDef& NewestBuiltin(std::string_view name) {
  return BestOf(name, [](const OpDef& def, const OpDef* best) {
    return best == nullptr || def.since_version > best->since_version;
  });
}

const OpDef& NextBuiltin(std::string_view name, int version) {
  return BestOf(name, [version](const OpDef& def, const OpDef* best) {
    if (def.since_version <= version) return false;
    return best == nullptr || def.since_version < best->since_version;
  });
}

}  // namespace hr::ops
