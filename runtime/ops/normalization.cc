// Normalization over the batch, over the last axes and over groups of channels.
#include "runtime/ops/builtin.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kBatchAttributes[] = {{"epsilon", AttributeKind::kFloat},
                                             {"momentum", AttributeKind::kFloat},
                                             {"training_mode", AttributeKind::kFlag}};
constexpr AttributeDef kLayerAttributes[] = {{"axis", AttributeKind::kInt},
                                             {"epsilon", AttributeKind::kFloat},
                                             {"stash_type", AttributeKind::kInt}};
constexpr AttributeDef kGroupAttributes[] = {{"epsilon", AttributeKind::kFloat},
                                             {"num_groups", AttributeKind::kInt, true},
                                             {"stash_type", AttributeKind::kInt}};

// Inputs first … last are vectors with one element per channel of x.
Status CheckPerChannel(const InferContext& context, size_t x, size_t first, size_t last) {
  HR_RETURN_IF_ERROR(context.ExpectRankAtLeast(x, 2));
  for (size_t i = first; i <= last; ++i) {
    HR_RETURN_IF_ERROR(context.ExpectFloating(i));
    HR_RETURN_IF_ERROR(context.ExpectRank(i, 1));
    if (!context.input(x).ranked || !context.input(i).ranked) continue;
    HR_RETURN_IF_ERROR(EqualDims(context, Cat("channels and ", context.InputText(i)),
                                 context.input(x).dims[1], context.input(i).dims[0])
                           .status());
  }
  return {};
}

Status InferBatchNormalization(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectFloating(0));
  HR_RETURN_IF_ERROR(CheckPerChannel(context, 0, 1, 4));
  if (context.output_count() > 1 && context.node().Int("training_mode", 0) == 0) {
    return InvalidArgument("BatchNormalization gives running statistics only with training_mode 1");
  }
  context.SetOutput(0, context.input(0));
  context.SetOutput(1, context.input(3));
  context.SetOutput(2, context.input(4));
  return {};
}

void BatchNormalizationGradient(GradientContext& g) {
  if (g.grad(0) == kNone) return;
  ValueId inputs[] = {g.grad(0), g.input(0), g.input(1), g.input(3), g.input(4)};
  auto grads = g.EmitMany(kGrad, "BatchNormalizationGrad", inputs, 3, g.node().attributes);
  for (size_t i = 0; i < 3; ++i) g.SetGrad(i, grads[i]);
}

Status InferBatchNormalizationGrad(InferContext& context) {
  HR_RETURN_IF_ERROR(CheckPerChannel(context, 1, 2, 4));
  context.SetOutput(0, context.input(1));
  context.SetOutput(1, context.input(2));
  context.SetOutput(2, context.input(2));
  return {};
}

// The type in which ONNX computes the statistics.
Result<DType> StashType(const InferContext& context) {
  const int64_t stash = context.node().Int("stash_type", 1);
  for (DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    if (stash == static_cast<int64_t>(dtype)) return dtype;
  }
  return InvalidArgument(context.def().name, "'s 'stash_type' is 1 or 16, got ", stash);
}

Status InferLayerNormalization(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectFloating(0));
  HR_RETURN_IF_ERROR(context.ExpectFloating(1));
  HR_RETURN_IF_ERROR(context.ExpectFloating(2));
  for (size_t i = 1; i < context.input_count(); ++i) {
    if (!context.has_input(i)) continue;
    HR_RETURN_IF_ERROR(CheckBroadcasts(context, context.input(i), context.input(0)));
  }
  ValueType statistics = context.input(0);
  HR_ASSIGN_OR_RETURN(const DType stash, StashType(context));
  if (statistics.dtype != DType::kFloat64) statistics.dtype = stash;
  if (statistics.ranked) {
    HR_ASSIGN_OR_RETURN(int64_t axis,
                        ResolveAxis(context, context.node().Int("axis", -1), statistics.rank()));
    for (size_t i = static_cast<size_t>(axis); i < statistics.dims.size(); ++i) {
      statistics.dims[i] = FixedDim(1);
    }
  }
  context.SetOutput(0, context.input(0));
  context.SetOutput(1, statistics);
  context.SetOutput(2, std::move(statistics));
  return {};
}

void LayerNormalizationGradient(GradientContext& g) {
  if (g.grad(0) == kNone) return;
  ValueId inputs[] = {g.grad(0), g.input(0), g.input(1), g.RequireOutput(1), g.RequireOutput(2)};
  auto grads = g.EmitMany(kGrad, "LayerNormalizationGrad", inputs, 2,
                          graph::Attributes({{"axis", g.node().Int("axis", -1)}}));
  g.SetGrad(0, grads[0]);
  g.SetGrad(1, grads[1]);
  if (g.wants(2)) g.SetGrad(2, g.SumTo(g.grad(0), g.input(2)));
}

Status InferLayerNormalizationGrad(InferContext& context) {
  context.SetOutput(0, context.input(1));
  context.SetOutput(1, context.input(2));
  return {};
}

// Channels of x can be cut into num_groups groups of one size.
Status CheckGroups(const InferContext& context, size_t x) {
  const int64_t groups = context.node().Int("num_groups", 0);
  if (groups < 1) {
    return InvalidArgument(context.def().name, "'s 'num_groups' is 1 or more, got ", groups);
  }
  if (!context.input(x).ranked) return {};
  const Dim channels = context.input(x).dims[1];
  if (!channels.fixed() || channels.size % groups == 0) return {};
  return InvalidArgument(context.def().name, " wants channels that are a multiple of num_groups ",
                         groups, ", got ", channels.size, " in ", context.InputText(x));
}

Status InferGroupNormalization(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectFloating(0));
  HR_RETURN_IF_ERROR(CheckPerChannel(context, 0, 1, 2));
  for (size_t i : {1, 2}) HR_RETURN_IF_ERROR(context.ExpectSameDType(0, i));
  HR_RETURN_IF_ERROR(CheckGroups(context, 0));
  HR_RETURN_IF_ERROR(StashType(context).status());
  context.SetOutput(0, context.input(0));
  return {};
}

void GroupNormalizationGradient(GradientContext& g) {
  if (g.grad(0) == kNone) return;
  ValueId inputs[] = {g.grad(0), g.input(0), g.input(1)};
  auto grads = g.EmitMany(kGrad, "GroupNormalizationGrad", inputs, 3,
                          graph::Attributes({{"epsilon", g.node().Float("epsilon", 1e-5)},
                                             {"num_groups", g.node().Int("num_groups", 1)}}));
  for (size_t i = 0; i < 3; ++i) g.SetGrad(i, grads[i]);
}

Status InferGroupNormalizationGrad(InferContext& context) {
  HR_RETURN_IF_ERROR(CheckPerChannel(context, 1, 2, 2));
  HR_RETURN_IF_ERROR(CheckGroups(context, 1));
  context.SetOutput(0, context.input(1));
  context.SetOutput(1, context.input(2));
  context.SetOutput(2, context.input(2));
  return {};
}

constexpr OpDef kNormalizationOps[] = {
    // Version 9 for inference only: with one output.
    {.domain = kOnnx,
     .name = "BatchNormalization",
     .since_version = 9,
     .inputs = {5, 5},
     .attributes = std::span(kBatchAttributes).first(2),
     .infer = InferBatchNormalization,
     .gradient = BatchNormalizationGradient},
    // (x [N, C, …], scale [C], bias [C], mean [C], variance [C]) → (y, running mean?, variance?)
    {.domain = kOnnx,
     .name = "BatchNormalization",
     .since_version = 14,
     .inputs = {5, 5},
     .outputs = {1, 3},
     .attributes = kBatchAttributes,
     .infer = InferBatchNormalization,
     .gradient = BatchNormalizationGradient},
    // (dy, x, scale, mean, variance) → (dx, dscale, dbias); with training_mode the statistics are
    // those of x, else mean and variance
    {.domain = kGrad,
     .name = "BatchNormalizationGrad",
     .inputs = {5, 5},
     .outputs = {3, 3},
     .attributes = kBatchAttributes,
     .infer = InferBatchNormalizationGrad},
    // (x, scale, bias?) → (y, mean?, 1 / standard deviation?)
    {.domain = kOnnx,
     .name = "LayerNormalization",
     .since_version = 17,
     .inputs = {2, 3},
     .outputs = {1, 3},
     .attributes = kLayerAttributes,
     .infer = InferLayerNormalization,
     .gradient = LayerNormalizationGradient},
    // (dy, x, scale, mean, 1 / standard deviation) → (dx, dscale)
    {.domain = kGrad,
     .name = "LayerNormalizationGrad",
     .inputs = {5, 5},
     .outputs = {2, 2},
     .attributes = std::span(kLayerAttributes).first(1),
     .infer = InferLayerNormalizationGrad},
    // (x [N, C, …], scale [C], bias [C]) → y. Version 18, with a scale and a bias a group, is
    // deprecated in ONNX and not here.
    {.domain = kOnnx,
     .name = "GroupNormalization",
     .since_version = 21,
     .inputs = {3, 3},
     .attributes = kGroupAttributes,
     .infer = InferGroupNormalization,
     .gradient = GroupNormalizationGradient},
    // (dy, x, scale) → (dx, dscale, dbias), with the statistics of x
    {.domain = kGrad,
     .name = "GroupNormalizationGrad",
     .inputs = {3, 3},
     .outputs = {3, 3},
     .attributes = std::span(kGroupAttributes).first(2),
     .infer = InferGroupNormalizationGrad},
};

}  // namespace

OpFamily NormalizationOps() { return Chosen<kNormalizationOps>(); }

}  // namespace hr::ops
