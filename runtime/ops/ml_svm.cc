// ai.onnx.ml's support vector machines.
#include <algorithm>
#include <array>
#include <numeric>

#include "runtime/ops/attribute_lists.h"
#include "runtime/ops/builtin.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/ml_scores.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kSvmRegressorAttributes[] = {
    {"coefficients", AttributeKind::kFloats}, {"kernel_params", AttributeKind::kFloats},
    {"kernel_type", AttributeKind::kString},  {"n_supports", AttributeKind::kInt},
    {"one_class", AttributeKind::kInt},       {"post_transform", AttributeKind::kString},
    {"rho", AttributeKind::kFloats},          {"support_vectors", AttributeKind::kFloats}};
constexpr AttributeDef kSvmClassifierAttributes[] = {
    {"classlabels_ints", AttributeKind::kInts},
    {"classlabels_strings", AttributeKind::kStrings},
    {"coefficients", AttributeKind::kFloats, true},
    {"kernel_params", AttributeKind::kFloats},
    {"kernel_type", AttributeKind::kString},
    {"post_transform", AttributeKind::kString},
    {"prob_a", AttributeKind::kFloats},
    {"prob_b", AttributeKind::kFloats},
    {"rho", AttributeKind::kFloats, true},
    {"support_vectors", AttributeKind::kFloats},
    {"vectors_per_class", AttributeKind::kInts}};
constexpr AttributeDef kCoupleAttributes[] = {{"classes", AttributeKind::kInt, true}};

Status CheckKernel(const InferContext& context) {
  const Node& node = context.node();
  const std::string_view kernel = node.String("kernel_type", "LINEAR");
  if (!IsOneOf(kernel, {"LINEAR", "POLY", "RBF", "SIGMOID"})) {
    return InvalidArgument(context.def().name,
                           "'s 'kernel_type' is LINEAR, POLY, RBF or SIGMOID, got '", kernel, "'");
  }
  const size_t parameters = FloatsOf(node, "kernel_params").size();
  if (parameters == 0 || parameters == 3) return {};
  return InvalidArgument(context.def().name, " wants none or three 'kernel_params', got ",
                         parameters);
}

// (x [N, features]) → [N, 1]
Status InferSvmRegressor(InferContext& context) {
  const Node& node = context.node();
  HR_RETURN_IF_ERROR(PostTransformOf(node).status());
  HR_ASSIGN_OR_RETURN(const FeatureDims dims, CheckFeatures(context));
  const int64_t supports = node.Int("n_supports", 0);
  const auto coefficients = static_cast<int64_t>(FloatsOf(node, "coefficients").size());
  const auto vectors = static_cast<int64_t>(FloatsOf(node, "support_vectors").size());
  HR_RETURN_IF_ERROR(CheckKernel(context));
  if (FloatsOf(node, "rho").empty()) return InvalidArgument("SVMRegressor wants a 'rho'");
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

// Products of rows and `count` support vectors under the kernel, in float64, where |a - b|² can be
// taken from the products.
ValueId Kernels(ComposeContext& c, ValueId x, int64_t count) {
  const auto numbers = FloatsOf(c.node(), "support_vectors");
  const std::vector<double> held(numbers.begin(), numbers.end());
  const Dims dims = {count, static_cast<int64_t>(held.size()) / count};
  const ValueId vectors = c.Cast(c.Floats(held, dims), DType::kFloat64);
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
  const auto weights = FloatsOf(c.node(), "coefficients");
  const std::vector<double> factors(weights.begin(), weights.end());
  const double rho = FloatsOf(c.node(), "rho")[0];
  const bool one_class = c.node().Int("one_class", 0) != 0;
  const auto count = static_cast<int64_t>(factors.size());
  ValueId rows = c.Cast(FeatureRows(c, c.input(0)), DType::kFloat64);
  if (supports > 0) {
    rows = Kernels(c, rows, supports);
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

// ---- Classification: each pair of classes has a machine of its own ----

size_t PairsOf(size_t classes) { return classes * (classes - 1) / 2; }

// The number of support vectors; a failure if the classes have negative ones, or too many.
Result<int64_t> VectorsOf(const Node& node) {
  int64_t sum = 0;
  for (const int64_t count : node.Ints("vectors_per_class")) {
    if (count < 0 || count > (int64_t{1} << 40)) {
      return InvalidArgument("SVMClassifier's 'vectors_per_class' has ", count);
    }
    sum += count;
  }
  return sum;
}

Status CheckClasses(const Node& node) {
  const size_t classes = node.Ints("classlabels_ints").size();
  if (!StringsOf(node, "classlabels_strings").empty()) {
    return Unimplemented(
        "SVMClassifier gives strings, which do not run here; give classlabels_ints and look the "
        "names up behind the model");
  }
  if (classes < 2 || classes > 4096 || node.Ints("vectors_per_class").size() != classes) {
    return InvalidArgument("SVMClassifier wants from 2 to 4096 labels, and how many support ",
                           "vectors each has; got ", classes, " labels and ",
                           node.Ints("vectors_per_class").size(), " numbers of vectors");
  }
  const size_t a = FloatsOf(node, "prob_a").size(), b = FloatsOf(node, "prob_b").size();
  const size_t rho = FloatsOf(node, "rho").size(), pairs = PairsOf(classes);
  if (rho != pairs || a != b || (a != 0 && a != pairs)) {
    return InvalidArgument("SVMClassifier wants a 'rho' for each of ", pairs,
                           " pairs of classes, and as many numbers or none in 'prob_a' and ",
                           "'prob_b'; got ", rho, ", ", a, " and ", b);
  }
  if (classes == 2 && a == 0 && node.String("post_transform", "NONE") == "PROBIT") {
    return Unimplemented("SVMClassifier has no PROBIT for a single score");
  }
  return {};
}

// (x [N, features]) → labels [N], scores: [N, classes], or without prob_a [N, pairs], two for one
Status InferSvmClassifier(InferContext& context) {
  const Node& node = context.node();
  HR_RETURN_IF_ERROR(PostTransformOf(node).status());
  HR_RETURN_IF_ERROR(CheckKernel(context));
  if (node.Ints("vectors_per_class").empty()) {
    return Unimplemented(
        "SVMClassifier without support vectors is a linear model; export it as LinearClassifier");
  }
  HR_RETURN_IF_ERROR(CheckClasses(node));
  HR_ASSIGN_OR_RETURN(const FeatureDims dims, CheckFeatures(context));
  HR_ASSIGN_OR_RETURN(const int64_t vectors, VectorsOf(node));
  const auto classes = static_cast<int64_t>(node.Ints("classlabels_ints").size());
  const auto coefficients = static_cast<int64_t>(FloatsOf(node, "coefficients").size());
  const auto numbers = static_cast<int64_t>(FloatsOf(node, "support_vectors").size());
  if (vectors == 0 || numbers % vectors != 0 || coefficients != (classes - 1) * vectors) {
    return InvalidArgument("SVMClassifier's ", vectors, " support vectors of ", classes,
                           " classes do not go with ", coefficients, " coefficients and ", numbers,
                           " numbers of vectors");
  }
  HR_RETURN_IF_ERROR(EqualDims(context, "the features and support vectors", dims.features,
                               FixedDim(numbers / vectors))
                         .status());
  const bool probabilities = !FloatsOf(node, "prob_a").empty();
  const auto pairs = static_cast<int64_t>(PairsOf(static_cast<size_t>(classes)));
  SetDims(context, 0, DType::kInt64, {dims.rows});
  SetDims(context, 1, DType::kFloat32,
          {dims.rows, FixedDim(probabilities || classes == 2 ? classes : pairs)});
  return {};
}

// What the pairs need of the attributes, as matrices.
struct PairMatrices {
  std::vector<double> weights;  // [vectors, pairs]: of each vector for each pair
  std::vector<double> first;    // [pairs, classes]: 1 for the class that wins if the score is > 0
  std::vector<double> second;   // and for the one that wins otherwise
};

PairMatrices MatricesOf(const Node& node, size_t vectors) {
  const auto per_class = node.Ints("vectors_per_class");
  const auto coefficients = FloatsOf(node, "coefficients");
  const size_t classes = per_class.size(), pairs = PairsOf(classes);
  std::vector<size_t> begin(classes + 1, 0);
  for (size_t i = 0; i < classes; ++i) begin[i + 1] = begin[i] + static_cast<size_t>(per_class[i]);
  PairMatrices out;
  out.weights.resize(vectors * pairs);
  out.first.resize(pairs * classes);
  out.second.resize(pairs * classes);
  // The machine of i and j has its weights of i's vectors in row j - 1, those of j's in row i.
  for (size_t i = 0, pair = 0; i < classes; ++i) {
    for (size_t j = i + 1; j < classes; ++j, ++pair) {
      const auto fill = [&](size_t of, size_t row) {
        for (size_t v = begin[of]; v < begin[of + 1]; ++v) {
          out.weights[v * pairs + pair] = coefficients[row * vectors + v];
        }
      };
      fill(i, j - 1);
      fill(j, i);
      out.first[pair * classes + i] = out.second[pair * classes + j] = 1;
    }
  }
  return out;
}

// The class that wins most pairs; of several the first.
ValueId Winners(ComposeContext& c, ValueId scores, const PairMatrices& pairs, const Dims& dims) {
  const ValueId first = c.CastLike(c.Emit("Greater", {scores, c.Scalar(0, scores)}), scores);
  const ValueId second = c.Sub(c.Scalar(1, scores), first);
  const auto matrix = [&](const std::vector<double>& held) {
    return c.Cast(c.Floats(held, dims), DType::kFloat64);
  };
  const ValueId votes = c.Add(c.Emit("MatMul", {first, matrix(pairs.first)}),
                              c.Emit("MatMul", {second, matrix(pairs.second)}));
  return c.Emit("ArgMax", {votes}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}});
}

// How likely the first class of each pair is, coupled to how likely each class is.
ValueId Probabilities(ComposeContext& c, ValueId scores, int64_t classes) {
  const auto list = [&](Literal name) {
    const auto given = FloatsOf(c.node(), name);
    const std::vector<double> held(given.begin(), given.end());
    return c.Cast(c.Floats(held, {static_cast<int64_t>(held.size())}), DType::kFloat64);
  };
  const ValueId at = c.Add(c.Mul(scores, list("prob_a")), list("prob_b"));
  const ValueId likely = c.Cast(c.Emit("Sigmoid", {c.Neg(at)}), DType::kFloat32);
  const ValueId inputs[] = {likely};
  return c.EmitMany(kTrees, "CouplePairs", inputs, 1, graph::Attributes({{"classes", classes}}))[0];
}

// One score of two classes, for both of them.
ValueId BothScores(ComposeContext& c, ValueId score) {
  const std::string_view transform = c.node().String("post_transform", "NONE");
  const bool rest = transform == "SOFTMAX" || transform == "SOFTMAX_ZERO";
  const ValueId both[] = {rest ? c.Sub(c.Scalar(1, score), score) : c.Neg(score), score};
  const ValueId out = c.Concat(both, 1);
  return transform == "LOGISTIC" ? c.Emit("Sigmoid", {out}) : out;
}

void ComposeSvmClassifier(ComposeContext& c) {
  const Node& node = c.node();
  const auto labels = node.Ints("classlabels_ints");
  const auto classes = static_cast<int64_t>(labels.size());
  const auto pairs = static_cast<int64_t>(PairsOf(labels.size()));
  const auto per_class = node.Ints("vectors_per_class");
  const int64_t vectors = std::accumulate(per_class.begin(), per_class.end(), int64_t{0});
  const PairMatrices matrices = MatricesOf(node, static_cast<size_t>(vectors));
  const auto rho = FloatsOf(node, "rho");
  const std::vector<double> shifts(rho.begin(), rho.end());
  const std::vector<int64_t> names(labels.begin(), labels.end());
  const bool probabilities = !FloatsOf(node, "prob_a").empty();
  const ValueId rows = c.Cast(FeatureRows(c, c.input(0)), DType::kFloat64);
  const ValueId weights = c.Cast(c.Floats(matrices.weights, {vectors, pairs}), DType::kFloat64);
  const ValueId products = c.Emit("MatMul", {Kernels(c, rows, vectors), weights});
  const ValueId shift = c.Cast(c.Floats(shifts, {pairs}), DType::kFloat64);
  const ValueId scores = c.Add(products, shift);
  c.SetOutput(0, c.Emit("Gather", {c.Ints(names), Winners(c, scores, matrices, {pairs, classes})}));
  if (probabilities) {
    return c.SetOutput(1, Transformed(c, Probabilities(c, scores, classes), classes));
  }
  const ValueId single = c.Cast(scores, DType::kFloat32);
  c.SetOutput(1, classes == 2 ? BothScores(c, single) : Transformed(c, single, pairs));
}

// (how likely the first class of each pair is [N, pairs]) → how likely each class is [N, classes]
Status InferCouple(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectDType(0, {DType::kFloat32}));
  HR_RETURN_IF_ERROR(context.ExpectRank(0, 2));
  const int64_t classes = context.node().Int("classes", 0);
  if (classes < 2 || classes > 4096) {
    return InvalidArgument("CouplePairs wants from 2 to 4096 classes, got ", classes);
  }
  const auto pairs = static_cast<int64_t>(PairsOf(static_cast<size_t>(classes)));
  const ValueType& x = context.input(0);
  if (x.ranked) {
    HR_RETURN_IF_ERROR(
        EqualDims(context, "the pairs of classes", x.dims[1], FixedDim(pairs)).status());
  }
  SetDims(context, 0, DType::kFloat32, {x.ranked ? x.dims[0] : Dim(), FixedDim(classes)});
  return {};
}

void NoCoupleGradient(GradientContext& g) {
  g.Fail(Unimplemented("gradients do not flow through the probabilities of SVMClassifier; train ",
                       "with the scores of a model without prob_a and prob_b"));
}

constexpr OpDef kMlSvmOps[] = {
    {.domain = kMl,
     .name = "SVMRegressor",
     .attributes = kSvmRegressorAttributes,
     .infer = InferSvmRegressor,
     .compose = ComposeSvmRegressor},
    {.domain = kMl,
     .name = "SVMClassifier",
     .outputs = {2, 2},
     .attributes = kSvmClassifierAttributes,
     .infer = InferSvmClassifier,
     .compose = ComposeSvmClassifier},
    {.domain = kTrees,
     .name = "CouplePairs",
     .attributes = kCoupleAttributes,
     .infer = InferCouple,
     .gradient = NoCoupleGradient},
};

}  // namespace

OpFamily MlSvmOps() { return Chosen<kMlSvmOps>(); }

}  // namespace hr::ops
