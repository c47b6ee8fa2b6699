// ai.onnx.ml: linear models, trees, and what prepares their features.
#include "tests/conformance/random_graphs/rows.h"

namespace hr::random_graphs {
namespace {

NamedAttribute Reals(const char* name, std::vector<double> values) {
  return {name, std::move(values), ""};
}
NamedAttribute Words(const char* name, std::vector<std::string> values) {
  return {name, std::move(values), ""};
}

std::vector<double> AnyReals(Draft& draft, int64_t count) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<double>(draft.rng().Between(-16, 16)) / 8);
  }
  return values;
}

// Rows of features, not too large.
std::string Rows(Draft& draft, const Row& row) {
  const std::string x = draft.Operand(
      {.types = row.types, .low = -100, .high = 100, .least_rank = 2, .most_rank = 2});
  return x.empty() || ElementCount(draft[x].dims) == 0 ? "" : x;
}
// Whole numbers: comparisons of trees do not depend on rounding.
std::string WholeRows(Draft& draft) {
  return draft.Leaf(DType::kInt64, {draft.batch(), draft.rng().Between(1, 3)}, -4, 4);
}

std::string Linear(Draft& draft, const Row& row) {
  const std::string x = Rows(draft, row);
  if (x.empty()) return "";
  const bool classifier = std::string(row.op) == "ai.onnx.ml.LinearClassifier";
  const int64_t targets = draft.rng().Between(classifier ? 2 : 1, 4);
  std::vector<NamedAttribute> attributes = {
      Reals("coefficients", AnyReals(draft, targets * draft[x].dims[1])),
      String("post_transform", draft.rng().Pick<std::string>({"NONE", "SOFTMAX", "LOGISTIC"}))};
  if (!classifier) {
    attributes.push_back(Int("targets", targets));
    if (draft.rng().Chance(60)) attributes.push_back(Reals("intercepts", AnyReals(draft, targets)));
    return draft.One(row.op, row.version, {x}, attributes);
  }
  attributes.push_back(Reals("intercepts", AnyReals(draft, targets)));
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < targets; ++i) labels.push_back(7 - 2 * i);
  attributes.push_back(List("classlabels_ints", labels));
  const auto names = draft.Node(row.op, row.version, {x}, 2, attributes);
  return names.empty() ? "" : names[1];
}

std::string SvmRegressor(Draft& draft, const Row& row) {
  const std::string x = Rows(draft, row);
  if (x.empty()) return "";
  const int64_t supports = draft.rng().Between(1, 4);
  return draft.One(
      row.op, row.version, {x},
      {Reals("coefficients", AnyReals(draft, supports)),
       Reals("support_vectors", AnyReals(draft, supports * draft[x].dims[1])), Reals("rho", {0.25}),
       Reals("kernel_params", {0.125, 0.5, 3}), Int("n_supports", supports),
       String("kernel_type", draft.rng().Pick<std::string>({"LINEAR", "SIGMOID", "RBF"}))});
}

std::string SvmClassifier(Draft& draft, const Row& row) {
  const std::string x = Rows(draft, row);
  if (x.empty()) return "";
  const int64_t classes = draft.rng().Between(2, 4);
  std::vector<int64_t> labels, vectors;
  int64_t supports = 0;
  for (int64_t i = 0; i < classes; ++i) {
    labels.push_back(7 - 2 * i);
    supports += vectors.emplace_back(draft.rng().Between(1, 3));
  }
  const auto names = draft.Node(
      row.op, row.version, {x}, 2,
      {Reals("coefficients", AnyReals(draft, supports * (classes - 1))),
       Reals("support_vectors", AnyReals(draft, supports * draft[x].dims[1])),
       Reals("rho", AnyReals(draft, classes * (classes - 1) / 2)),
       Reals("kernel_params", {0.125, 0.5, 3}), List("vectors_per_class", vectors),
       List("classlabels_ints", labels),
       String("kernel_type", draft.rng().Pick<std::string>({"LINEAR", "SIGMOID", "RBF"}))});
  return names.empty() ? "" : names[1];
}

std::string CouplePairs(Draft& draft, const Row& row) {
  const int64_t classes = draft.rng().Between(2, 5);
  const std::string x =
      draft.Leaf(DType::kFloat32, {draft.batch(), classes * (classes - 1) / 2}, 0.05, 0.95);
  return draft.One(row.op, row.version, {x}, {Int("classes", classes)});
}

std::string Scaler(Draft& draft, const Row& row) {
  const std::string x = Rows(draft, row);
  if (x.empty()) return "";
  const int64_t features = draft.rng().Chance(50) ? draft[x].dims[1] : 1;
  return draft.One(
      row.op, row.version, {x},
      {Reals("offset", AnyReals(draft, features)), Reals("scale", AnyReals(draft, features))});
}

std::string Normalizer(Draft& draft, const Row& row) {
  const std::string x = draft.Leaf(draft.AnyType(row.types), {draft.batch(), 4}, 0.5, 2);
  return draft.One(row.op, row.version, {x},
                   {String("norm", draft.rng().Pick<std::string>({"MAX", "L1", "L2"}))});
}

std::string Binarizer(Draft& draft, const Row& row) {
  return draft.One(row.op, row.version, {WholeRows(draft)}, {Float("threshold", 0.5)});
}

std::string Imputer(Draft& draft, const Row& row) {
  const std::string x = WholeRows(draft);
  std::vector<int64_t> values(static_cast<size_t>(draft[x].dims[1]), 9);
  return draft.One(row.op, row.version, {x},
                   {List("imputed_value_int64s", values), Int("replaced_value_int64", 1)});
}

std::string FeatureVectorizer(Draft& draft, const Row& row) {
  const std::string x = Rows(draft, row);
  if (x.empty()) return "";
  const std::string other =
      draft.Leaf(draft.AnyType(kFloats | kWords), {draft[x].dims[0], draft.rng().Between(1, 3)});
  return draft.One(row.op, row.version, {x, other});
}

std::string ArrayFeatureExtractor(Draft& draft, const Row& row) {
  const std::string x = Rows(draft, row);
  if (x.empty()) return "";
  return draft.One(row.op, row.version, {x, draft.Indices({3}, draft[x].dims[1], false)});
}

std::string LabelEncoder(Draft& draft, const Row& row) {
  return draft.One(row.op, row.version, {WholeRows(draft)},
                   {List("keys_int64s", {2, 0, -1, 3}), Reals("values_floats", {0.5, 7, -3, 1}),
                    Float("default_float", 11)});
}

std::string OneHotEncoder(Draft& draft, const Row& row) {
  return draft.One(row.op, row.version, {WholeRows(draft)}, {List("cats_int64s", {1, 0, -3})});
}

std::string LookUp(Draft& draft, const Row& row) {
  const std::string keys = draft.Ints({2, 0, -1});
  const std::string values = draft.Constant(DType::kFloat32, {3}, {0.5, 7, -3});
  return draft.One(row.op, row.version,
                   {WholeRows(draft), keys, values, draft.Constant(DType::kFloat32, {1}, {11})});
}

// Two trees: a node with two leaves, and a leaf alone.
std::vector<NamedAttribute> SmallTrees(Draft& draft, const std::string& x) {
  return {
      List("nodes_treeids", {0, 0, 0, 4}),
      List("nodes_nodeids", {5, 1, 2, 0}),
      List("nodes_featureids", {draft.rng().Between(0, draft[x].dims[1] - 1), 0, 0, 0}),
      Words("nodes_modes", {draft.rng().Pick<std::string>({"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                                           "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"}),
                            "LEAF", "LEAF", "LEAF"}),
      Reals("nodes_values", {static_cast<double>(draft.rng().Between(-2, 2)), 0, 0, 0}),
      List("nodes_truenodeids", {1, 0, 0, 0}),
      List("nodes_falsenodeids", {2, 0, 0, 0})};
}

std::string TreeRegressor(Draft& draft, const Row& row) {
  const std::string x = WholeRows(draft);
  std::vector<NamedAttribute> attributes = SmallTrees(draft, x);
  attributes.push_back(List("target_treeids", {0, 0, 4}));
  attributes.push_back(List("target_nodeids", {1, 2, 0}));
  attributes.push_back(List("target_ids", {0, 1, 1}));
  attributes.push_back(Reals("target_weights", AnyReals(draft, 3)));
  attributes.push_back(Int("n_targets", 2));
  attributes.push_back(String("aggregate_function",
                              draft.rng().Pick<std::string>({"SUM", "AVERAGE", "MIN", "MAX"})));
  return draft.One(row.op, row.version, {x}, attributes);
}

std::string TreeClassifier(Draft& draft, const Row& row) {
  const std::string x = WholeRows(draft);
  std::vector<NamedAttribute> attributes = SmallTrees(draft, x);
  attributes.push_back(List("class_treeids", {0, 0, 4}));
  attributes.push_back(List("class_nodeids", {1, 2, 0}));
  const bool binary = draft.rng().Chance(50);
  attributes.push_back(
      List("class_ids", binary ? std::vector<int64_t>{0, 0, 0} : std::vector<int64_t>{0, 1, 2}));
  attributes.push_back(Reals("class_weights", AnyReals(draft, 3)));
  attributes.push_back(List("classlabels_int64s",
                            binary ? std::vector<int64_t>{3, 7} : std::vector<int64_t>{3, 7, 9}));
  attributes.push_back(
      String("post_transform", draft.rng().Pick<std::string>({"NONE", "LOGISTIC"})));
  const auto names = draft.Node(row.op, row.version, {x}, 2, attributes);
  return names.empty() ? "" : names[1];
}

// One node with two leaves, whose splits are tensors.
std::string TreeEnsemble(Draft& draft, const Row& row) {
  const std::string x = draft.Leaf(DType::kFloat32, {draft.batch(), 2}, -2, 2);
  const auto held = [&](const char* name, DType dtype, std::vector<double> values) {
    const auto count = static_cast<int64_t>(values.size());
    return NamedAttribute{name, {}, "@" + draft.Constant(dtype, {count}, std::move(values))};
  };
  return draft.One(
      row.op, row.version, {x},
      {held("nodes_modes", DType::kUint8, {0}), held("nodes_splits", DType::kFloat32, {0.3125}),
       held("leaf_weights", DType::kFloat32, {1.5, -2}), List("leaf_targetids", {0, 1}),
       Int("n_targets", 2), List("nodes_featureids", {1}), List("nodes_truenodeids", {0}),
       List("nodes_falsenodeids", {1}), List("nodes_trueleafs", {1}), List("nodes_falseleafs", {1}),
       List("tree_roots", {0})});
}

std::string Forest(Draft& draft, const Row& row) {
  const std::string x = draft.Leaf(DType::kFloat32, {draft.batch(), 2}, -2, 2);
  const auto mode = static_cast<double>(draft.rng().Between(0, 6));
  const std::string nodes = draft.Constant(
      DType::kInt64, {3, 7}, {mode, 1, 1, 2, 1, 0, 2, 7, 0, 0, 1, 0, 0, 0, 7, 0, 1, 3, 0, 0, 0});
  const auto reals = [&](std::vector<double> values) {
    const auto count = static_cast<int64_t>(values.size());
    return draft.Constant(DType::kFloat32, {count}, std::move(values));
  };
  return draft.One(row.op, row.version,
                   {x, nodes, reals({0.3125, 0, 0}), draft.Ints({0}), draft.Ints({0, 1, 0}),
                    reals({1.5, -2, 0.25}), reals({0.3125, 40})},
                   {Int("n_targets", 2), Int("aggregate", draft.rng().Between(0, 3))});
}

std::string TfIdf(Draft& draft, const Row& row) {
  const Dims dims = {draft.batch(), draft.rng().Between(1, 9)};
  const std::string x = draft.Leaf(draft.AnyType(row.types), dims, -3, 3);
  return draft.One(
      row.op, row.version, {x},
      {String("mode", draft.rng().Pick<std::string>({"TF", "IDF", "TFIDF"})),
       Int("min_gram_length", draft.rng().Between(1, 2)), Int("max_gram_length", 2),
       Int("max_skip_count", draft.rng().Between(0, 3)), List("ngram_counts", {0, 3}),
       List("ngram_indexes", {0, 3, 1, 2, 4}), List("pool_int64s", {1, 0, -2, 0, 1, 1, 1}),
       Reals("weights", {0.5, 2, 1, -1, 3})});
}

const Row kMlRows[] = {
    {"TfIdfVectorizer", 9, TfIdf, kWords},
    {"ai.onnx.ml.LinearRegressor", 1, Linear},
    {"ai.onnx.ml.LinearClassifier", 1, Linear},
    {"ai.onnx.ml.SVMRegressor", 1, SvmRegressor},
    {"ai.onnx.ml.SVMClassifier", 1, SvmClassifier},
    {"headrace.ml.CouplePairs", 1, CouplePairs},
    {"ai.onnx.ml.Scaler", 1, Scaler},
    {"ai.onnx.ml.Normalizer", 1, Normalizer},
    {"ai.onnx.ml.Binarizer", 1, Binarizer},
    {"ai.onnx.ml.Imputer", 1, Imputer},
    {"ai.onnx.ml.FeatureVectorizer", 1, FeatureVectorizer},
    {"ai.onnx.ml.ArrayFeatureExtractor", 1, ArrayFeatureExtractor},
    {"ai.onnx.ml.LabelEncoder", 2, LabelEncoder},
    {"ai.onnx.ml.LabelEncoder", 4, LabelEncoder},
    {"ai.onnx.ml.OneHotEncoder", 1, OneHotEncoder},
    {"ai.onnx.ml.TreeEnsembleRegressor", 1, TreeRegressor},
    {"ai.onnx.ml.TreeEnsembleClassifier", 1, TreeClassifier},
    {"ai.onnx.ml.TreeEnsemble", 5, TreeEnsemble},
    {"headrace.ml.LookUp", 1, LookUp},
    {"headrace.ml.Forest", 1, Forest},
};

}  // namespace

std::span<const Row> MlRows() { return kMlRows; }

}  // namespace hr::random_graphs
