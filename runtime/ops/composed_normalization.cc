// Normalizations that are computed by reductions and element-wise functions.
#include "runtime/ops/builtin.h"
#include "runtime/ops/compose.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kRmsAttributes[] = {{"axis", AttributeKind::kInt},
                                           {"epsilon", AttributeKind::kFloat},
                                           {"stash_type", AttributeKind::kInt}};
constexpr AttributeDef kLpAttributes[] = {{"axis", AttributeKind::kInt},
                                          {"p", AttributeKind::kInt}};
constexpr AttributeDef kNormalizedAxes[] = {{"axes", AttributeKind::kInts}};
constexpr AttributeDef kEpsilon[] = {{"epsilon", AttributeKind::kFloat}};
constexpr AttributeDef kLocalAttributes[] = {{"alpha", AttributeKind::kFloat},
                                             {"beta", AttributeKind::kFloat},
                                             {"bias", AttributeKind::kFloat},
                                             {"size", AttributeKind::kInt, true}};

std::vector<int64_t> AxesFrom(size_t first, size_t rank) {
  std::vector<int64_t> axes;
  for (size_t axis = first; axis < rank; ++axis) axes.push_back(static_cast<int64_t>(axis));
  return axes;
}

// x minus its mean over the axes, and what that is divided by: sqrt(variance + epsilon).
struct Centred {
  ValueId values, deviation;
};
Centred Centre(ComposeContext& c, ValueId x, std::span<const int64_t> axes, double epsilon) {
  const ValueId values = c.Sub(x, c.Reduce("ReduceMean", x, axes));
  const ValueId variance = c.Reduce("ReduceMean", c.Mul(values, values), axes);
  return {values, c.Emit("Sqrt", {c.Add(variance, c.Scalar(epsilon, x))})};
}

Status InferRmsNormalization(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectFloating(0));
  HR_RETURN_IF_ERROR(context.ExpectFloating(1));
  HR_RETURN_IF_ERROR(ExpectAxis(context, -1));
  HR_RETURN_IF_ERROR(CheckBroadcasts(context, context.input(1), context.input(0)));
  const int64_t stash = context.node().Int("stash_type", 1);
  if (!IsFloating(static_cast<DType>(stash))) {
    return InvalidArgument("RMSNormalization's 'stash_type' is a floating-point type, got ", stash);
  }
  ValueType type = context.input(0);
  type.dtype = context.input(1).dtype;
  context.SetOutput(0, std::move(type));
  return {};
}

void ComposeRmsNormalization(ComposeContext& c) {
  const size_t rank = c.Rank(c.input(0));
  const auto axes = AxesFrom(c.Axis(c.node().Int("axis", -1), rank), rank);
  const DType given = c.type(c.input(0)).dtype;
  const auto stash = static_cast<DType>(c.node().Int("stash_type", 1));
  const ValueId x = c.Cast(c.input(0), given == DType::kFloat64 ? given : stash);
  const ValueId mean = c.Reduce("ReduceMean", c.Mul(x, x), axes);
  const ValueId epsilon = c.Scalar(c.node().Float("epsilon", 1e-5), x);
  const ValueId y = c.Div(x, c.Emit("Sqrt", {c.Add(mean, epsilon)}));
  c.SetOutput(0, c.Mul(c.CastLike(y, c.input(1)), c.input(1)));
}

Status InferLpNormalization(InferContext& context) {
  const int64_t p = context.node().Int("p", 2);
  if (p != 1 && p != 2) return InvalidArgument("LpNormalization's 'p' is 1 or 2, got ", p);
  return InferAlongAxis(context);
}

// Where all elements are 0, the result is 0.
void ComposeLpNormalization(ComposeContext& c) {
  const ValueId x = c.input(0);
  const auto axis = static_cast<int64_t>(c.Axis(c.node().Int("axis", -1), c.Rank(x)));
  const bool sums = c.node().Int("p", 2) == 1;
  const ValueId norm =
      c.Reduce(sums ? Literal("ReduceL1") : Literal("ReduceL2"), x, std::array{axis});
  const ValueId is_zero = c.Emit("Equal", {norm, c.Scalar(0, x)});
  c.SetOutput(0, c.Div(x, c.Emit("Where", {is_zero, c.Scalar(1, x), norm})));
}

std::vector<int64_t> MeanVarianceAxes(const Node& node) {
  const std::span<const int64_t> given = node.Ints("axes");
  if (given.empty()) return {0, 2, 3};
  return {given.begin(), given.end()};
}

Status InferMeanVarianceNormalization(InferContext& context) {
  const ValueType& x = context.input(0);
  if (x.ranked) {
    HR_RETURN_IF_ERROR(ResolveAxes(context, MeanVarianceAxes(context.node()), x.rank()).status());
  }
  return InferFloatingUnary(context);
}

void ComposeMeanVarianceNormalization(ComposeContext& c) {
  const ValueId x = c.input(0);
  const std::vector<int64_t> axes = MeanVarianceAxes(c.node());
  // Too small to be seen in the result; where all are equal the gradient is 0 instead of 0 / 0.
  const Centred centred = Centre(c, x, axes, 1e-36);
  c.SetOutput(0, c.Div(centred.values, c.Add(centred.deviation, c.Scalar(1e-9, x))));
}

Status InferInstanceNormalization(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectFloating(0));
  HR_RETURN_IF_ERROR(context.ExpectRankAtLeast(0, 3));
  for (size_t i : {1, 2}) {
    HR_RETURN_IF_ERROR(context.ExpectSameDType(0, i));
    HR_RETURN_IF_ERROR(context.ExpectRank(i, 1));
    if (!context.input(0).ranked || !context.input(i).ranked) continue;
    HR_RETURN_IF_ERROR(EqualDims(context, Cat("channels and ", context.InputText(i)),
                                 context.input(0).dims[1], context.input(i).dims[0])
                           .status());
  }
  context.SetOutput(0, context.input(0));
  return {};
}

void ComposeInstanceNormalization(ComposeContext& c) {
  const size_t rank = c.Rank(c.input(0));
  if (!c.ok()) return;
  const Centred centred = Centre(c, c.input(0), AxesFrom(2, rank), c.node().Float("epsilon", 1e-5));
  // [channels] as [channels, 1, 1, …]
  const auto behind = AxesFrom(1, rank - 1);
  const auto by_channel = [&](size_t i) {
    return c.Emit("Unsqueeze", {c.input(i), c.Ints(behind)});
  };
  const ValueId y = c.Div(centred.values, centred.deviation);
  c.SetOutput(0, c.Add(c.Mul(y, by_channel(1)), by_channel(2)));
}

Status InferLrn(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectRankAtLeast(0, 2));
  if (context.node().Int("size", 0) < 1) {
    return InvalidArgument("LRN's 'size' is 1 or more, got ", context.node().Int("size", 0));
  }
  return InferFloatingUnary(context);
}

// The squares of `size` neighbouring channels are added up as that many slices of the padded
// squares.
void ComposeLrn(ComposeContext& c) {
  const ValueId x = c.input(0);
  const size_t rank = c.Rank(x);
  const int64_t size = c.node().Int("size", 1);
  std::vector<int64_t> pads(2 * rank, 0);
  if (!c.ok()) return;
  pads[1] = (size - 1) / 2;
  pads[rank + 1] = size - 1 - pads[1];
  const ValueId squares = c.Emit("Pad", {c.Mul(x, x), c.Ints(pads)});
  ValueId sum = kNone;
  for (int64_t i = 0; i < size; ++i) {
    const int64_t end = i + 1 < size ? i + 1 - size : INT64_MAX;
    const ValueId slice = c.Emit("Slice", {squares, c.Ints(std::array{i}), c.Ints(std::array{end}),
                                           c.Ints(std::array{int64_t{1}})});
    sum = sum == kNone ? slice : c.Add(sum, slice);
  }
  const double alpha = c.node().Float("alpha", 1e-4) / static_cast<double>(size);
  const ValueId base = c.Add(c.Scalar(c.node().Float("bias", 1), x), c.Scale(sum, alpha));
  c.SetOutput(0, c.Div(x, c.Emit("Pow", {base, c.Scalar(c.node().Float("beta", 0.75), x)})));
}

constexpr OpDef kComposedNormalizationOps[] = {
    {.domain = kOnnx,
     .name = "RMSNormalization",
     .since_version = 23,
     .inputs = {2, 2},
     .attributes = kRmsAttributes,
     .infer = InferRmsNormalization,
     .compose = ComposeRmsNormalization},
    {.domain = kOnnx,
     .name = "LpNormalization",
     .attributes = kLpAttributes,
     .infer = InferLpNormalization,
     .compose = ComposeLpNormalization},
    {.domain = kOnnx,
     .name = "MeanVarianceNormalization",
     .since_version = 9,
     .attributes = kNormalizedAxes,
     .infer = InferMeanVarianceNormalization,
     .compose = ComposeMeanVarianceNormalization},
    {.domain = kOnnx,
     .name = "InstanceNormalization",
     .since_version = 6,
     .inputs = {3, 3},
     .attributes = kEpsilon,
     .infer = InferInstanceNormalization,
     .compose = ComposeInstanceNormalization},
    {.domain = kOnnx,
     .name = "LRN",
     .attributes = kLocalAttributes,
     .infer = InferLrn,
     .compose = ComposeLrn},
};

}  // namespace

OpFamily ComposedNormalizationOps() { return Chosen<kComposedNormalizationOps>(); }

}  // namespace hr::ops
