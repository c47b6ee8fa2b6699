#include "runtime/ops/ml_scores.h"

#include <array>
#include <cmath>

#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

// exp(score - largest) over their sum, but scores of 0 stay 0.
ValueId SoftmaxZero(ComposeContext& c, ValueId scores) {
  const ValueId largest = c.Reduce("ReduceMax", scores, std::array<int64_t, 1>{-1});
  const ValueId far = c.Emit("Greater", {c.Emit("Abs", {scores}), c.Scalar(1e-7, scores)});
  const ValueId powers = c.Mul(c.Emit("Exp", {c.Sub(scores, largest)}), c.CastLike(far, scores));
  const ValueId sum = c.Reduce("ReduceSum", powers, std::array<int64_t, 1>{-1});
  const ValueId none = c.CastLike(c.Emit("Equal", {sum, c.Scalar(0, sum)}), sum);
  return c.Div(powers, c.Add(sum, none));
}

// The inverse of the normal distribution, as ONNX Runtime approximates it (Winitzki's formula).
ValueId Probit(ComposeContext& c, ValueId scores) {
  constexpr double kA = 0.147, kPi = 3.14159265358979323846;
  const ValueId one = c.Scalar(1, scores);
  const ValueId x = c.Sub(c.Scale(scores, 2), one);
  const ValueId log = c.Emit("Log", {c.Sub(one, c.Mul(x, x))});
  const ValueId v = c.Add(c.Scalar(2 / (kPi * kA), scores), c.Scale(log, 0.5));
  const ValueId root = c.Emit("Sqrt", {c.Sub(c.Mul(v, v), c.Scale(log, 1 / kA))});
  return c.Scale(c.Mul(c.Emit("Sign", {x}), c.Emit("Sqrt", {c.Sub(root, v)})), std::sqrt(2.0));
}

}  // namespace

Result<PostTransform> PostTransformOf(const graph::Node& node) {
  constexpr std::string_view kNames[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const std::string_view name = node.String("post_transform", "NONE");
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return static_cast<PostTransform>(i);
  }
  return InvalidArgument(
      "'post_transform' is NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT, got '", name, "'");
}

ValueId Transformed(ComposeContext& c, ValueId scores, int64_t count) {
  auto transform = PostTransformOf(c.node());
  if (!transform.ok()) c.Fail(std::move(transform).status());
  return c.ok() ? Transformed(c, scores, count, *transform) : kNone;
}

ValueId Transformed(ComposeContext& c, ValueId scores, int64_t count, PostTransform transform) {
  if (transform == PostTransform::kProbit) return Probit(c, scores);
  if (count == 1 || transform == PostTransform::kNone) return scores;
  if (transform == PostTransform::kLogistic) return c.Emit("Sigmoid", {scores});
  if (transform == PostTransform::kSoftmaxZero) return SoftmaxZero(c, scores);
  return c.Emit("Softmax", {scores}, {{"axis", int64_t{-1}}});
}

ValueId FeatureRows(ComposeContext& c, ValueId x) {
  const ValueId rows = c.Rank(x) == 1 ? c.Unsqueeze(x, 0) : x;
  return c.Cast(rows, DType::kFloat32);
}

Result<FeatureDims> CheckFeatures(const InferContext& context) {
  HR_RETURN_IF_ERROR(
      context.ExpectDType(0, {DType::kFloat32, DType::kFloat64, DType::kInt64, DType::kInt32}));
  const ValueType& x = context.input(0);
  if (!x.ranked) return FeatureDims{};
  if (x.rank() == 1) return FeatureDims{FixedDim(1), x.dims[0]};
  if (x.rank() == 2) return FeatureDims{x.dims[0], x.dims[1]};
  return InvalidArgument(context.def().name, " takes rows of features, rank 1 or 2, got ",
                         context.Text(x));
}

}  // namespace hr::ops
