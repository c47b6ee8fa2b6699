// Softmax along one axis, its logarithm, and the classification losses built on them.
#include "runtime/ops/builtin.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kSoftmaxAttributes[] = {{"axis", AttributeKind::kInt}};
constexpr AttributeDef kLossAttributes[] = {{"ignore_index", AttributeKind::kInt},
                                            {"reduction", AttributeKind::kString}};

Status InferSoftmax(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectSameDType(0, 1));  // of the gradients
  return InferAlongAxis(context);
}

template <const char* Name>
void SoftmaxGradient(GradientContext& g) {
  g.SetGrad(0, g.EmitGrad(Literal::Kept(Name), {g.grad(0), g.output(0)},
                          {{"axis", g.node().Int("axis", -1)}}));
}

constexpr char kSoftmaxGrad[] = "SoftmaxGrad";
constexpr char kLogSoftmaxGrad[] = "LogSoftmaxGrad";
constexpr char kCrossEntropyGrad[] = "SoftmaxCrossEntropyLossGrad";
constexpr char kLikelihoodGrad[] = "NegativeLogLikelihoodLossGrad";

Status CheckWeights(const InferContext& context, Dim classes, size_t weights) {
  if (!context.has_input(weights)) return {};
  HR_RETURN_IF_ERROR(context.ExpectSameDType(0, weights));
  HR_RETURN_IF_ERROR(context.ExpectRank(weights, 1));
  if (!context.input(weights).ranked) return {};
  return EqualDims(context, "classes and weights", classes, context.input(weights).dims[0])
      .status();
}

// Checks scores [N, C, d…] at `first`, labels [N, d…] and weights [C]? behind it; returns the
// labels' dimensions.
Result<ValueType> LossPerLabel(const InferContext& context, size_t first) {
  HR_RETURN_IF_ERROR(context.ExpectFloating(first));
  HR_RETURN_IF_ERROR(context.ExpectIndices(first + 1));
  HR_RETURN_IF_ERROR(context.ExpectRankAtLeast(first, 2));
  const ValueType& scores = context.input(first);
  const ValueType& labels = context.input(first + 1);
  ValueType out = labels;
  out.dtype = scores.dtype;
  if (!scores.ranked) return out;
  HR_RETURN_IF_ERROR(context.ExpectRank(first + 1, scores.rank() - 1));
  HR_RETURN_IF_ERROR(CheckWeights(context, scores.dims[1], first + 2));
  out.ranked = true;
  out.dims = scores.dims;
  out.dims.erase(out.dims.begin() + 1);
  for (size_t i = 0; labels.ranked && i < out.dims.size(); ++i) {
    HR_ASSIGN_OR_RETURN(out.dims[i], EqualDims(context,
                                               Cat("scores and labels, ", context.Text(scores),
                                                   " and ", context.Text(labels), ","),
                                               out.dims[i], labels.dims[i]));
  }
  return out;
}

Status InferLoss(InferContext& context) {
  HR_ASSIGN_OR_RETURN(auto&& loss, LossPerLabel(context, 0));
  std::string_view reduction = context.node().String("reduction", "mean");
  if (IsOneOf(reduction, {"mean", "sum"})) {
    loss = ValueType::Tensor(loss.dtype, {});
  } else if (reduction != "none") {
    return InvalidArgument(context.def().name,
                           "'s attribute 'reduction' is mean, sum or none, got '", reduction, "'");
  }
  context.SetOutput(0, std::move(loss));
  context.SetOutput(1, context.input(0));
  return {};
}

// (dloss, log_prob, labels, weights?) → the gradient of the scores
Status InferLossGrad(InferContext& context) {
  HR_RETURN_IF_ERROR(LossPerLabel(context, 1).status());
  HR_RETURN_IF_ERROR(context.ExpectSameDType(0, 1));
  context.SetOutput(0, context.input(1));
  return {};
}

void CrossEntropyGradient(GradientContext& g) {
  if (!g.wants(0)) return;
  ValueId log_prob = g.RequireOutput(1);
  ValueId dx = kNone;
  if (g.grad(0) != kNone) {
    dx = g.EmitGradAlike(kCrossEntropyGrad, {g.grad(0), log_prob, g.input(1), g.input(2)});
  }
  if (g.grad(1) != kNone) {
    ValueId through = g.EmitGrad(kLogSoftmaxGrad, {g.grad(1), log_prob}, {{"axis", int64_t{1}}});
    dx = dx == kNone ? through : g.Add(dx, through);
  }
  g.SetGrad(0, dx);
}

void LikelihoodGradient(GradientContext& g) {
  if (!g.wants(0)) return;
  g.SetGrad(0, g.EmitGradAlike(kLikelihoodGrad, {g.grad(0), g.input(0), g.input(1), g.input(2)}));
}

constexpr OpDef kSoftmaxOps[] = {
    {.domain = kOnnx,
     .name = "Softmax",
     .since_version = 13,
     .attributes = kSoftmaxAttributes,
     .infer = InferSoftmax,
     .gradient = SoftmaxGradient<kSoftmaxGrad>},
    {.domain = kOnnx,
     .name = "LogSoftmax",
     .since_version = 13,
     .attributes = kSoftmaxAttributes,
     .infer = InferSoftmax,
     .gradient = SoftmaxGradient<kLogSoftmaxGrad>},
    // (dy, y) → dx
    {.domain = kGrad,
     .name = kSoftmaxGrad,
     .inputs = {2, 2},
     .attributes = kSoftmaxAttributes,
     .infer = InferSoftmax},
    {.domain = kGrad,
     .name = kLogSoftmaxGrad,
     .inputs = {2, 2},
     .attributes = kSoftmaxAttributes,
     .infer = InferSoftmax},
    // (scores [N, C, d…], labels [N, d…], weights [C]?) → (loss, log_prob?)
    {.domain = kOnnx,
     .name = "SoftmaxCrossEntropyLoss",
     .since_version = 12,
     .inputs = {2, 3},
     .outputs = {1, 2},
     .attributes = kLossAttributes,
     .infer = InferLoss,
     .gradient = CrossEntropyGradient},
    {.domain = kGrad,
     .name = kCrossEntropyGrad,
     .inputs = {3, 4},
     .attributes = kLossAttributes,
     .infer = InferLossGrad},
    // (log_prob [N, C, d…], labels [N, d…], weights [C]?) → loss
    {.domain = kOnnx,
     .name = "NegativeLogLikelihoodLoss",
     .since_version = 12,
     .inputs = {2, 3},
     .attributes = kLossAttributes,
     .infer = InferLoss,
     .gradient = LikelihoodGradient},
    // Of log_prob only the type is used.
    {.domain = kGrad,
     .name = kLikelihoodGrad,
     .inputs = {3, 4},
     .type_only_inputs = 1u << 1,
     .attributes = kLossAttributes,
     .infer = InferLossGrad},
};

}  // namespace

OpFamily SoftmaxOps() { return Chosen<kSoftmaxOps>(); }

}  // namespace hr::ops
