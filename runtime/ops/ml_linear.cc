// ai.onnx.ml's linear models and support vector machines for regression.
#include <algorithm>
#include <array>

#include "runtime/ops/attribute_lists.h"
#include "runtime/ops/builtin.h"
#include "runtime/ops/ml_scores.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kRegressorAttributes[] = {{"coefficients", AttributeKind::kFloats},
                                                 {"intercepts", AttributeKind::kFloats},
                                                 {"post_transform", AttributeKind::kString},
                                                 {"targets", AttributeKind::kInt}};
constexpr AttributeDef kClassifierAttributes[] = {{"coefficients", AttributeKind::kFloats, true},
                                                  {"intercepts", AttributeKind::kFloats},
                                                  {"classlabels_ints", AttributeKind::kInts},
                                                  {"classlabels_strings", AttributeKind::kStrings},
                                                  {"multi_class", AttributeKind::kInt},
                                                  {"post_transform", AttributeKind::kString}};
constexpr AttributeDef kSvmAttributes[] = {
    {"coefficients", AttributeKind::kFloats}, {"kernel_params", AttributeKind::kFloats},
    {"kernel_type", AttributeKind::kString},  {"n_supports", AttributeKind::kInt},
    {"one_class", AttributeKind::kInt},       {"post_transform", AttributeKind::kString},
    {"rho", AttributeKind::kFloats},          {"support_vectors", AttributeKind::kFloats}};

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

// (x [N, features]) → [N, 1]
Status InferSvmRegressor(InferContext& context) {
  const Node& node = context.node();
  HR_RETURN_IF_ERROR(PostTransformOf(node).status());
  HR_ASSIGN_OR_RETURN(const FeatureDims dims, CheckFeatures(context));
  const int64_t supports = node.Int("n_supports", 0);
  const auto coefficients = static_cast<int64_t>(FloatsOf(node, "coefficients").size());
  const auto vectors = static_cast<int64_t>(FloatsOf(node, "support_vectors").size());
  const std::string_view kernel = node.String("kernel_type", "LINEAR");
  if (!IsOneOf(kernel, {"LINEAR", "POLY", "RBF", "SIGMOID"})) {
    return InvalidArgument("SVMRegressor's 'kernel_type' is LINEAR, POLY, RBF or SIGMOID, got '",
                           kernel, "'");
  }
  const size_t parameters = FloatsOf(node, "kernel_params").size();
  if (FloatsOf(node, "rho").empty() || (parameters != 0 && parameters != 3)) {
    return InvalidArgument("SVMRegressor wants a 'rho', and none or three 'kernel_params'");
  }
  if (supports < 0 || (supports > 0 && (coefficients != supports || vectors % supports != 0))) {
    return InvalidArgument("SVMRegressor's ", supports, " support vectors do not go with ",
                           coefficients, " coefficients and ", vectors, " numbers of vectors");
  }
  const int64_t features = supports > 0 ? vectors / supports : coefficients;
  HR_RETURN_IF_ERROR(
      EqualDims(context, "the features and support vectors", dims.features, FixedDim(features))
          .status());
  SetDims(context, 0, DType::kFloat32, {dims.rows, FixedDim(1)});
  return {};
}

// Products of rows and support vectors under the kernel, in float64, where |a - b|² can be taken
// from the products.
ValueId Kernels(ComposeContext& c, ValueId x, ValueId vectors) {
  const auto given = FloatsOf(c.node(), "kernel_params");
  const double gamma = given.empty() ? 0 : given[0], shift = given.empty() ? 0 : given[1];
  const double degree = given.empty() ? 0 : given[2];
  const std::string_view kernel = c.node().String("kernel_type", "LINEAR");
  const bool radial = kernel == "RBF", linear = kernel == "LINEAR", poly = kernel == "POLY";
  const ValueId products = c.Emit("MatMul", {x, c.Transpose(vectors, {1, 0})});
  if (linear) return products;
  if (radial) {
    const std::array<int64_t, 1> last = {-1};
    const ValueId own = c.Reduce("ReduceSumSquare", x, last);
    const ValueId others = c.Transpose(c.Reduce("ReduceSumSquare", vectors, last), {1, 0});
    const ValueId far = c.Sub(c.Add(own, others), c.Scale(products, 2));
    return c.Emit("Exp", {c.Scale(c.Emit("Max", {far, c.Scalar(0, far)}), -gamma)});
  }
  const ValueId scaled = c.Add(c.Scale(products, gamma), c.Scalar(shift, products));
  return poly ? c.Emit("Pow", {scaled, c.Scalar(degree, scaled)}) : c.Emit("Tanh", {scaled});
}

void ComposeSvmRegressor(ComposeContext& c) {
  const int64_t supports = c.node().Int("n_supports", 0);
  const auto weights = FloatsOf(c.node(), "coefficients"),
             numbers = FloatsOf(c.node(), "support_vectors");
  const std::vector<double> factors(weights.begin(), weights.end());
  const std::vector<double> vectors(numbers.begin(), numbers.end());
  const double rho = FloatsOf(c.node(), "rho")[0];
  const bool one_class = c.node().Int("one_class", 0) != 0;
  const auto count = static_cast<int64_t>(factors.size());
  ValueId rows = c.Cast(FeatureRows(c, c.input(0)), DType::kFloat64);
  if (supports > 0) {
    const Dims dims = {supports, static_cast<int64_t>(vectors.size()) / supports};
    rows = Kernels(c, rows, c.Cast(c.Floats(vectors, dims), DType::kFloat64));
  }
  const ValueId column = c.Cast(c.Floats(factors, {count, 1}), DType::kFloat64);
  ValueId score = c.Emit("MatMul", {rows, column});
  score = c.Cast(c.Add(score, c.Scalar(rho, score)), DType::kFloat32);
  if (one_class) {
    const ValueId positive = c.Emit("Greater", {score, c.Scalar(0, score)});
    return c.SetOutput(0, c.Emit("Where", {positive, c.Scalar(1, score), c.Scalar(-1, score)}));
  }
  c.SetOutput(0, Transformed(c, score, 1));
}

constexpr OpDef kOps[] = {
    {.domain = kMl,
     .name = "LinearRegressor",
     .attributes = kRegressorAttributes,
     .infer = InferLinearRegressor,
     .compose = ComposeLinearRegressor},
    {.domain = kMl,
     .name = "LinearClassifier",
     .outputs = {2, 2},
     .attributes = kClassifierAttributes,
     .infer = InferLinearClassifier,
     .compose = ComposeLinearClassifier},
    {.domain = kMl,
     .name = "SVMRegressor",
     .attributes = kSvmAttributes,
     .infer = InferSvmRegressor,
     .compose = ComposeSvmRegressor},
};

}  // namespace

std::span<const OpDef> MlLinearOps() { return kOps; }

}  // namespace hr::ops
