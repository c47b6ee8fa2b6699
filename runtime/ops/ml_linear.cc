// ai.onnx.ml's linear models.
#include <algorithm>

#include "runtime/ops/attribute_lists.h"
#include "runtime/ops/builtin.h"
#include "runtime/ops/ml_scores.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kLinearRegressorAttributes[] = {{"coefficients", AttributeKind::kFloats},
                                                       {"intercepts", AttributeKind::kFloats},
                                                       {"post_transform", AttributeKind::kString},
                                                       {"targets", AttributeKind::kInt}};
constexpr AttributeDef kLinearClassifierAttributes[] = {
    {"coefficients", AttributeKind::kFloats, true},
    {"intercepts", AttributeKind::kFloats},
    {"classlabels_ints", AttributeKind::kInts},
    {"classlabels_strings", AttributeKind::kStrings},
    {"multi_class", AttributeKind::kInt},
    {"post_transform", AttributeKind::kString}};
// The features that `coefficients` has for each of `targets`.
Result<int64_t> FeaturesOf(const InferContext& context, int64_t targets) {
  const auto size = static_cast<int64_t>(FloatsOf(context.node(), "coefficients").size());
  if (targets >= 1 && size >= 1 && size % targets == 0) return size / targets;
  return InvalidArgument(context.def().name, "'s ", size, " coefficients are no whole number for ",
                         "each of ", targets, " targets");
}

// Checks that x has what the model's coefficients are for.
Result<Dim> CheckLinear(const InferContext& context, int64_t targets) {
  HR_RETURN_IF_ERROR(PostTransformOf(context.node()).status());
  HR_ASSIGN_OR_RETURN(const FeatureDims dims, CheckFeatures(context));
  HR_ASSIGN_OR_RETURN(const int64_t features, FeaturesOf(context, targets));
  HR_RETURN_IF_ERROR(
      EqualDims(context, "the features and coefficients", dims.features, FixedDim(features))
          .status());
  const size_t intercepts = FloatsOf(context.node(), "intercepts").size();
  if (intercepts == 0 || intercepts == static_cast<size_t>(targets)) return dims.rows;
  return InvalidArgument(context.def().name, " wants an intercept for each of ", targets,
                         " targets, got ", intercepts);
}

// (x [N, features]) → [N, targets]
Status InferLinearRegressor(InferContext& context) {
  const int64_t targets = context.node().Int("targets", 1);
  HR_ASSIGN_OR_RETURN(const Dim rows, CheckLinear(context, targets));
  SetDims(context, 0, DType::kFloat32, {rows, FixedDim(targets)});
  return {};
}

// x times the coefficients, plus the intercepts: [N, targets].
ValueId Scores(ComposeContext& c, int64_t targets) {
  const auto weights = FloatsOf(c.node(), "coefficients"), bias = FloatsOf(c.node(), "intercepts");
  const auto features = static_cast<int64_t>(weights.size()) / targets;
  const std::vector<double> held(weights.begin(), weights.end());
  const std::vector<double> added(bias.begin(), bias.end());
  const ValueId rows = FeatureRows(c, c.input(0)), w = c.Floats(held, {targets, features});
  const ValueId b = added.empty() ? kNone : c.Floats(added, {targets});
  return c.Emit("Gemm", {rows, w, b}, {{"transB", int64_t{1}}});
}

void ComposeLinearRegressor(ComposeContext& c) {
  const int64_t targets = c.node().Int("targets", 1);
  c.SetOutput(0, Transformed(c, Scores(c, targets), targets));
}

int64_t TargetsOf(const Node& node) {
  const size_t intercepts = FloatsOf(node, "intercepts").size();
  const size_t labels = node.Ints("classlabels_ints").size();
  return static_cast<int64_t>(intercepts != 0 ? intercepts : labels);
}

// (x [N, features]) → labels [N], scores [N, classes]
Status InferLinearClassifier(InferContext& context) {
  const Node& node = context.node();
  if (!StringsOf(node, "classlabels_strings").empty()) {
    return Unimplemented(
        "LinearClassifier gives strings, which do not run here; give "
        "classlabels_ints and look the names up behind the model");
  }
  const int64_t targets = TargetsOf(node);
  const size_t labels = node.Ints("classlabels_ints").size();
  if (labels != static_cast<size_t>(std::max<int64_t>(targets, 2))) {
    return InvalidArgument("LinearClassifier wants a label for each class, two for one score; got ",
                           labels, " labels and ", targets, " scores");
  }
  HR_ASSIGN_OR_RETURN(const Dim rows, CheckLinear(context, targets));
  if (targets == 1 && node.String("post_transform", "NONE") == "PROBIT") {
    return Unimplemented("LinearClassifier has no PROBIT for a single score; give two");
  }
  SetDims(context, 0, DType::kInt64, {rows});
  SetDims(context, 1, DType::kFloat32, {rows, FixedDim(std::max<int64_t>(targets, 2))});
  return {};
}

// One score is that of the second class: the other has what is left to 1, or the logistic of the
// negative score.
void ComposeBinary(ComposeContext& c, ValueId score, ValueId labels) {
  const ValueId positive = c.Emit("Greater", {score, c.Scalar(0, score)});
  const ValueId which = c.Emit("Squeeze", {c.Cast(positive, DType::kInt64), c.Int(1)});
  c.SetOutput(0, c.Emit("Gather", {labels, which}));
  if (c.node().String("post_transform", "NONE") == "LOGISTIC") {
    const ValueId both[] = {c.Neg(score), score};
    return c.SetOutput(1, c.Emit("Sigmoid", {c.Concat(both, 1)}));
  }
  const ValueId both[] = {c.Sub(c.Scalar(1, score), score), score};
  c.SetOutput(1, c.Concat(both, 1));
}

void ComposeLinearClassifier(ComposeContext& c) {
  const int64_t targets = TargetsOf(c.node());
  const auto given = c.node().Ints("classlabels_ints");
  const std::vector<int64_t> held(given.begin(), given.end());
  const ValueId labels = c.Ints(held), scores = Scores(c, targets);
  if (targets == 1) return ComposeBinary(c, scores, labels);
  const ValueId largest =
      c.Emit("ArgMax", {scores}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}});
  c.SetOutput(0, c.Emit("Gather", {labels, largest}));
  c.SetOutput(1, Transformed(c, scores, targets));
}

constexpr OpDef kMlLinearOps[] = {
    {.domain = kMl,
     .name = "LinearRegressor",
     .attributes = kLinearRegressorAttributes,
     .infer = InferLinearRegressor,
     .compose = ComposeLinearRegressor},
    {.domain = kMl,
     .name = "LinearClassifier",
     .outputs = {2, 2},
     .attributes = kLinearClassifierAttributes,
     .infer = InferLinearClassifier,
     .compose = ComposeLinearClassifier},
};

}  // namespace

OpFamily MlLinearOps() { return Chosen<kMlLinearOps>(); }

}  // namespace hr::ops
