// ai.onnx.ml's ensembles of trees. All of them are composed of one operator, headrace.ml.Forest,
// whose operands are trees in an order that cannot be cyclic: children come behind their parents.
// What a file says about its trees is checked when they are put into that order.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "runtime/ops/attribute_lists.h"
#include "runtime/ops/builtin.h"
#include "runtime/ops/forest.h"
#include "runtime/ops/ml_scores.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

// Those of a classifier, of both, and of a regressor.
constexpr AttributeDef kModelAttributes[] = {
    {"classlabels_int64s", AttributeKind::kInts},
    {"classlabels_strings", AttributeKind::kStrings},
    {"class_treeids", AttributeKind::kInts},
    {"class_nodeids", AttributeKind::kInts},
    {"class_ids", AttributeKind::kInts},
    {"class_weights", AttributeKind::kFloats},
    {"class_weights_as_tensor", AttributeKind::kTensor},
    {"nodes_treeids", AttributeKind::kInts},
    {"nodes_nodeids", AttributeKind::kInts},
    {"nodes_featureids", AttributeKind::kInts},
    {"nodes_modes", AttributeKind::kStrings},
    {"nodes_values", AttributeKind::kFloats},
    {"nodes_values_as_tensor", AttributeKind::kTensor},
    {"nodes_hitrates", AttributeKind::kFloats},
    {"nodes_hitrates_as_tensor", AttributeKind::kTensor},
    {"nodes_truenodeids", AttributeKind::kInts},
    {"nodes_falsenodeids", AttributeKind::kInts},
    {"nodes_missing_value_tracks_true", AttributeKind::kInts},
    {"base_values", AttributeKind::kFloats},
    {"base_values_as_tensor", AttributeKind::kTensor},
    {"post_transform", AttributeKind::kString},
    {"aggregate_function", AttributeKind::kString},
    {"n_targets", AttributeKind::kInt},
    {"target_treeids", AttributeKind::kInts},
    {"target_nodeids", AttributeKind::kInts},
    {"target_ids", AttributeKind::kInts},
    {"target_weights", AttributeKind::kFloats},
    {"target_weights_as_tensor", AttributeKind::kTensor},
};
constexpr auto kTreeClassifierAttributes = std::span(kModelAttributes).first(21);
constexpr auto kTreeRegressorAttributes = std::span(kModelAttributes).subspan(7);

constexpr AttributeDef kEnsembleAttributes[] = {
    {"aggregate_function", AttributeKind::kInt},
    {"leaf_targetids", AttributeKind::kInts, true},
    {"leaf_weights", AttributeKind::kTensor, true},
    {"membership_values", AttributeKind::kTensor},
    {"n_targets", AttributeKind::kInt},
    {"nodes_falseleafs", AttributeKind::kInts, true},
    {"nodes_falsenodeids", AttributeKind::kInts, true},
    {"nodes_featureids", AttributeKind::kInts, true},
    {"nodes_hitrates", AttributeKind::kTensor},
    {"nodes_missing_value_tracks_true", AttributeKind::kInts},
    {"nodes_modes", AttributeKind::kTensor, true},
    {"nodes_splits", AttributeKind::kTensor, true},
    {"nodes_trueleafs", AttributeKind::kInts, true},
    {"nodes_truenodeids", AttributeKind::kInts, true},
    {"post_transform", AttributeKind::kInt},
    {"tree_roots", AttributeKind::kInts, true},
};
constexpr AttributeDef kForestAttributes[] = {{"aggregate", AttributeKind::kInt},
                                              {"n_targets", AttributeKind::kInt}};

// ---- Forest ----

// (x [N, features], nodes [nodes, columns], splits [nodes], roots [trees], targets [weights],
// weights [weights], members […]) → [N, n_targets]
Status InferForest(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectDType(0, {DType::kFloat32, DType::kFloat64}));
  HR_RETURN_IF_ERROR(context.ExpectRank(0, 2));
  for (size_t i : {1, 3, 4}) HR_RETURN_IF_ERROR(context.ExpectDType(i, {DType::kInt64}));
  for (size_t i : {2, 5, 6}) HR_RETURN_IF_ERROR(context.ExpectSameDType(0, i));
  const int64_t targets = context.node().Int("n_targets", 1);
  const int64_t aggregate = context.node().Int("aggregate", 1);
  if (targets < 1 || targets > (int64_t{1} << 31) || aggregate < 0 || aggregate > 3) {
    return InvalidArgument("Forest wants n_targets from 1 on and an aggregate from 0 to 3, got ",
                           targets, " and ", aggregate);
  }
  const ValueType& x = context.input(0);
  SetDims(context, 0, x.dtype, {x.ranked ? x.dims[0] : Dim(), FixedDim(targets)});
  return {};
}

// ---- Trees as they are read ----

struct Weight {
  int64_t target;
  double weight;
};

struct TreeNode {
  ForestMode mode = ForestMode::kLeaf;
  int64_t feature = 0, yes = 0, no = 0;
  bool missing = false;
  double split = 0;
  std::vector<double> members;
  std::vector<Weight> weights;
};

struct Trees {
  std::vector<TreeNode> nodes;
  std::vector<int64_t> roots;
  int64_t targets = 1;
  ForestAggregate aggregate = ForestAggregate::kSum;
};

// Numbers of a list, or of a tensor of floating or integer numbers.
std::vector<double> NumbersOf(const EmitContext& c, Literal list, Literal tensor) {
  const auto given = FloatsOf(c.node(), list);
  std::vector<double> out(given.begin(), given.end());
  const Tensor* held = c.TensorOf(tensor);
  if (held == nullptr) return out;
  for (int64_t i = 0; i < held->elements(); ++i) {
    switch (held->dtype()) {
      case DType::kFloat64: out.push_back(held->as<double>()[i]); break;
      case DType::kFloat32: out.push_back(held->as<float>()[i]); break;
      case DType::kUint8: out.push_back(held->as<uint8_t>()[i]); break;
      default: break;  // too few numbers, which is told
    }
  }
  return out;
}
std::vector<double> NumbersOf(const EmitContext& c, Literal tensor) {
  return NumbersOf(c, tensor, tensor);
}

std::vector<int64_t> TreeInts(const EmitContext& c, Literal name) {
  const auto given = c.node().Ints(name);
  return {given.begin(), given.end()};
}

Status ExpectSize(Literal name, size_t got, size_t expected) {
  if (got == expected) return {};
  return InvalidArgument("'", std::string_view(name), "' has ", got, " values for ", expected,
                         " nodes or leaves");
}

Result<ForestMode> ModeOf(std::string_view name) {
  constexpr std::string_view kNames[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
                                         "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i] && i != 6) return static_cast<ForestMode>(i);
  }
  return InvalidArgument(
      "a node's mode is BRANCH_LEQ, BRANCH_LT, BRANCH_GTE, BRANCH_GT, BRANCH_EQ, "
      "BRANCH_NEQ or LEAF, got '",
      name, "'");
}

// Nodes by their tree and their number in it.
using Places = std::map<std::pair<int64_t, int64_t>, int64_t>;

Result<int64_t> PlaceOf(const Places& places, int64_t tree, int64_t node) {
  const auto found = places.find({tree, node});
  if (found != places.end()) return found->second;
  return InvalidArgument("tree ", tree, " has no node ", node);
}

// Nodes that are no child; of several of one tree the first.
std::vector<int64_t> RootsOf(const Trees& trees, const std::vector<int64_t>& of_tree) {
  graph::Marks child(trees.nodes.size(), 0);
  for (const TreeNode& node : trees.nodes) {
    if (node.mode == ForestMode::kLeaf) continue;
    child[static_cast<size_t>(node.yes)] = child[static_cast<size_t>(node.no)] = 1;
  }
  std::map<int64_t, int64_t> first;
  for (size_t i = 0; i < of_tree.size(); ++i) {
    if (child[i] == 0) first.try_emplace(of_tree[i], static_cast<int64_t>(i));
  }
  std::vector<int64_t> roots;
  for (const auto& [tree, root] : first) roots.push_back(root);
  return roots;
}

// What the attributes nodes_… of TreeEnsembleClassifier and -Regressor say.
Result<Trees> ReadNodes(const EmitContext& c, Places* places) {
  const auto of_tree = TreeInts(c, "nodes_treeids"), ids = TreeInts(c, "nodes_nodeids");
  const auto features = TreeInts(c, "nodes_featureids"),
             missing = TreeInts(c, "nodes_missing_value_tracks_true");
  const auto yes = TreeInts(c, "nodes_truenodeids"), no = TreeInts(c, "nodes_falsenodeids");
  const auto modes = StringsOf(c.node(), "nodes_modes");
  const auto splits = NumbersOf(c, "nodes_values", "nodes_values_as_tensor");
  const size_t count = of_tree.size();
  HR_RETURN_IF_ERROR(ExpectSize("nodes_nodeids", ids.size(), count));
  HR_RETURN_IF_ERROR(ExpectSize("nodes_featureids", features.size(), count));
  HR_RETURN_IF_ERROR(ExpectSize("nodes_modes", modes.size(), count));
  HR_RETURN_IF_ERROR(ExpectSize("nodes_values", splits.size(), count));
  HR_RETURN_IF_ERROR(ExpectSize("nodes_truenodeids", yes.size(), count));
  HR_RETURN_IF_ERROR(ExpectSize("nodes_falsenodeids", no.size(), count));
  if (!missing.empty()) {
    HR_RETURN_IF_ERROR(ExpectSize("nodes_missing_value_tracks_true", missing.size(), count));
  }
  for (size_t i = 0; i < count; ++i) {
    if (places->try_emplace({of_tree[i], ids[i]}, static_cast<int64_t>(i)).second) continue;
    return InvalidArgument("tree ", of_tree[i], " has two nodes ", ids[i]);
  }
  Trees trees;
  for (size_t i = 0; i < count; ++i) {
    TreeNode node;
    HR_ASSIGN_OR_RETURN(node.mode, ModeOf(modes[i]));
    node.feature = features[i];
    node.split = splits[i];
    node.missing = !missing.empty() && missing[i] != 0;
    if (node.mode != ForestMode::kLeaf) {
      HR_ASSIGN_OR_RETURN(node.yes, PlaceOf(*places, of_tree[i], yes[i]));
      HR_ASSIGN_OR_RETURN(node.no, PlaceOf(*places, of_tree[i], no[i]));
    }
    trees.nodes.push_back(std::move(node));
  }
  trees.roots = RootsOf(trees, of_tree);
  std::vector<int64_t> different = of_tree;
  std::sort(different.begin(), different.end());
  different.erase(std::unique(different.begin(), different.end()), different.end());
  if (trees.roots.size() == different.size()) return trees;
  return InvalidArgument("of ", different.size(), " trees only ", trees.roots.size(),
                         " have a root: all nodes of the others are children, so they are cyclic");
}

// The names of the attributes that give leaves their weights.
struct WeightNames {
  Literal trees, nodes, ids, weights, tensor;
};
constexpr WeightNames kClassNames = {"class_treeids", "class_nodeids", "class_ids", "class_weights",
                                     "class_weights_as_tensor"};
constexpr WeightNames kTargetNames = {"target_treeids", "target_nodeids", "target_ids",
                                      "target_weights", "target_weights_as_tensor"};

Result<Trees> ReadModel(const EmitContext& c, const WeightNames& names, int64_t targets) {
  Places places;
  HR_ASSIGN_OR_RETURN(Trees trees, ReadNodes(c, &places));
  const auto of_tree = TreeInts(c, names.trees), of_node = TreeInts(c, names.nodes);
  const auto ids = TreeInts(c, names.ids);
  const auto weights = NumbersOf(c, names.weights, names.tensor);
  HR_RETURN_IF_ERROR(ExpectSize(names.nodes, of_node.size(), of_tree.size()));
  HR_RETURN_IF_ERROR(ExpectSize(names.ids, ids.size(), of_tree.size()));
  HR_RETURN_IF_ERROR(ExpectSize(names.weights, weights.size(), of_tree.size()));
  trees.targets = targets;
  for (size_t i = 0; i < ids.size(); ++i) {
    HR_ASSIGN_OR_RETURN(const int64_t node, PlaceOf(places, of_tree[i], of_node[i]));
    trees.nodes[static_cast<size_t>(node)].weights.push_back({ids[i], weights[i]});
  }
  return trees;
}

// What TreeEnsemble's attributes say: leaves stand behind the nodes.
Result<Trees> ReadEnsemble(const EmitContext& c) {
  const auto yes = TreeInts(c, "nodes_truenodeids"), no = TreeInts(c, "nodes_falsenodeids");
  const auto yes_leaf = TreeInts(c, "nodes_trueleafs"), no_leaf = TreeInts(c, "nodes_falseleafs");
  const auto features = TreeInts(c, "nodes_featureids"), targets = TreeInts(c, "leaf_targetids");
  const auto missing = TreeInts(c, "nodes_missing_value_tracks_true");
  const auto modes = NumbersOf(c, "nodes_modes"), splits = NumbersOf(c, "nodes_splits");
  const auto weights = NumbersOf(c, "leaf_weights"), members = NumbersOf(c, "membership_values");
  const size_t count = modes.size();
  HR_RETURN_IF_ERROR(ExpectSize("nodes_splits", splits.size(), count));
  HR_RETURN_IF_ERROR(ExpectSize("nodes_truenodeids", yes.size(), count));
  HR_RETURN_IF_ERROR(ExpectSize("nodes_falsenodeids", no.size(), count));
  HR_RETURN_IF_ERROR(ExpectSize("nodes_trueleafs", yes_leaf.size(), count));
  HR_RETURN_IF_ERROR(ExpectSize("nodes_falseleafs", no_leaf.size(), count));
  HR_RETURN_IF_ERROR(ExpectSize("nodes_featureids", features.size(), count));
  HR_RETURN_IF_ERROR(ExpectSize("leaf_targetids", targets.size(), weights.size()));
  if (!missing.empty()) {
    HR_RETURN_IF_ERROR(ExpectSize("nodes_missing_value_tracks_true", missing.size(), count));
  }
  Trees trees;
  const auto nodes = static_cast<int64_t>(count);
  auto member = members.begin();
  const auto child = [&](int64_t id, bool leaf) -> Result<int64_t> {
    const int64_t most = leaf ? static_cast<int64_t>(weights.size()) : nodes;
    if (id >= 0 && id < most) return leaf ? nodes + id : id;
    return InvalidArgument("there are ", most, leaf ? " leaves" : " nodes", ", and no ", id);
  };
  for (size_t i = 0; i < count; ++i) {
    TreeNode node;
    if (!(modes[i] >= 0 && modes[i] <= 6)) {
      return InvalidArgument("a node's mode is from 0 to 6, got ", modes[i]);
    }
    node.mode = static_cast<ForestMode>(static_cast<int64_t>(modes[i]));
    node.feature = features[i];
    node.split = splits[i];
    node.missing = !missing.empty() && missing[i] != 0;
    HR_ASSIGN_OR_RETURN(node.yes, child(yes[i], yes_leaf[i] != 0));
    HR_ASSIGN_OR_RETURN(node.no, child(no[i], no_leaf[i] != 0));
    if (node.mode == ForestMode::kMember) {
      const auto end = std::find_if(member, members.end(), [](double v) { return std::isnan(v); });
      if (end == members.end()) {
        return InvalidArgument(
            "'membership_values' has a NaN behind the members of each node "
            "that asks for them; there are fewer than nodes");
      }
      node.members.assign(member, end);
      member = end + 1;
    }
    trees.nodes.push_back(std::move(node));
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    TreeNode leaf;
    leaf.weights.push_back({targets[i], weights[i]});
    trees.nodes.push_back(std::move(leaf));
  }
  for (int64_t root : TreeInts(c, "tree_roots")) {
    HR_ASSIGN_OR_RETURN(root, child(root, false));
    trees.roots.push_back(root);
  }
  return trees;
}

// ---- Trees as operands ----

// Nodes in an order in which children come behind parents, roots first; fails where a node has two
// parents. A leaf may have several: it is where comparisons end.
Result<std::vector<int64_t>> OrderOf(const Trees& trees) {
  std::vector<int64_t> order = trees.roots;
  graph::Marks seen(trees.nodes.size(), 0);
  for (int64_t root : order) seen[static_cast<size_t>(root)] = 1;
  for (size_t i = 0; i < order.size(); ++i) {
    const TreeNode& node = trees.nodes[static_cast<size_t>(order[i])];
    if (node.mode == ForestMode::kLeaf) continue;
    for (int64_t child : {node.yes, node.no}) {
      char& mark = seen[static_cast<size_t>(child)];
      const bool leaf = trees.nodes[static_cast<size_t>(child)].mode == ForestMode::kLeaf;
      if (mark != 0 && !leaf) {
        return InvalidArgument("node ", child, " of the trees is reached twice: they are cyclic, ",
                               "or share a branch");
      }
      if (mark == 0 || leaf) order.push_back(child);
      mark = 1;
    }
  }
  return order;
}

// A constant of float32 or float64.
ValueId Numbers(ComposeContext& c, const std::vector<double>& values, DType dtype) {
  auto tensor = Tensor::Create(c.allocator(), dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; tensor.ok() && i < values.size(); ++i) {
    if (dtype == DType::kFloat64) {
      tensor->as<double>()[i] = values[i];
    } else {
      tensor->as<float>()[i] = static_cast<float>(values[i]);
    }
  }
  return c.Constant(std::move(tensor));
}

ValueId EmitForest(ComposeContext& c, const Trees& trees, const std::vector<int64_t>& order,
                   ValueId x) {
  using Columns = ForestColumns;
  std::vector<int64_t> nodes(order.size() * Columns::kColumns), targets, roots;
  std::vector<double> splits, weights, members;
  for (size_t i = 0; i < trees.roots.size(); ++i) roots.push_back(static_cast<int64_t>(i));
  size_t next = roots.size();  // children stand in the order in which they were met
  for (size_t i = 0; i < order.size(); ++i) {
    const TreeNode& node = trees.nodes[static_cast<size_t>(order[i])];
    int64_t* row = nodes.data() + i * Columns::kColumns;
    const bool leaf = node.mode == ForestMode::kLeaf;
    row[Columns::kMode] = static_cast<int64_t>(node.mode);
    row[Columns::kFeature] = node.feature;
    row[Columns::kMissing] = node.missing ? 1 : 0;
    row[Columns::kMembersBegin] = static_cast<int64_t>(members.size());
    members.insert(members.end(), node.members.begin(), node.members.end());
    row[Columns::kMembersEnd] = static_cast<int64_t>(members.size());
    row[Columns::kYes] = static_cast<int64_t>(leaf ? weights.size() : next);
    for (const Weight& weight : node.weights) {
      if (!leaf) break;
      targets.push_back(weight.target);
      weights.push_back(weight.weight);
    }
    row[Columns::kNo] = static_cast<int64_t>(leaf ? weights.size() : next + 1);
    if (!leaf) next += 2;
    splits.push_back(node.split);
  }
  const DType dtype = c.ok() ? c.type(x).dtype : DType::kFloat32;
  const ValueId shape = c.Ints(
      std::array{static_cast<int64_t>(order.size()), static_cast<int64_t>(Columns::kColumns)});
  const ValueId table = c.Emit("Reshape", {c.Ints(nodes), shape});
  const ValueId inputs[] = {x,
                            table,
                            Numbers(c, splits, dtype),
                            c.Ints(roots),
                            c.Ints(targets),
                            Numbers(c, weights, dtype),
                            Numbers(c, members, dtype)};
  return c.EmitMany(kTrees, "Forest", inputs, 1,
                    graph::Attributes({{"aggregate", static_cast<int64_t>(trees.aggregate)},
                                       {"n_targets", trees.targets}}))[0];
}

// x in the type in which trees compare, then what they say: [N, targets].
ValueId Grown(ComposeContext& c, Result<Trees> trees) {
  if (!trees.ok()) c.Fail(std::move(trees).status());
  if (!c.ok()) return kNone;
  auto order = OrderOf(*trees);
  if (!order.ok()) {
    c.Fail(std::move(order).status());
    return kNone;
  }
  ValueId x = c.input(0);
  if (c.Rank(x) == 1) x = c.Unsqueeze(x, 0);
  if (c.ok() && c.type(x).dtype != DType::kFloat64) x = c.Cast(x, DType::kFloat32);
  return EmitForest(c, *trees, *order, x);
}

// ---- The operators ----

Status CheckBase(const EmitContext& c, const std::vector<double>& base, int64_t most) {
  if (base.empty() || base.size() == static_cast<size_t>(most)) return {};
  return InvalidArgument(c.def().name, " wants ", most, " base_values or none, got ", base.size());
}

ValueId WithBase(ComposeContext& c, ValueId scores, const std::vector<double>& base) {
  if (base.empty() || !c.ok()) return scores;
  return c.Add(scores, Numbers(c, base, c.type(scores).dtype));
}

Status InferRegressor(InferContext& context) {
  HR_RETURN_IF_ERROR(PostTransformOf(context.node()).status());
  HR_ASSIGN_OR_RETURN(const FeatureDims dims, CheckFeatures(context));
  const int64_t targets = context.node().Int("n_targets", 1);
  if (targets < 1 || targets > (int64_t{1} << 31)) {
    return InvalidArgument("TreeEnsembleRegressor's 'n_targets' is 1 or more, got ", targets);
  }
  if (!IsOneOf(context.node().String("aggregate_function", "SUM"),
               {"AVERAGE", "SUM", "MIN", "MAX"})) {
    return InvalidArgument(
        "TreeEnsembleRegressor's 'aggregate_function' is AVERAGE, SUM, MIN or MAX, got '",
        context.node().String("aggregate_function", "SUM"), "'");
  }
  SetDims(context, 0, DType::kFloat32, {dims.rows, FixedDim(targets)});
  return {};
}

void ComposeRegressor(ComposeContext& c) {
  const int64_t targets = c.node().Int("n_targets", 1);
  const std::string name(c.node().String("aggregate_function", "SUM"));
  Result<Trees> trees = ReadModel(c, kTargetNames, targets);
  if (trees.ok()) {
    trees->aggregate = name == "AVERAGE" ? ForestAggregate::kAverage
                       : name == "MIN"   ? ForestAggregate::kMin
                       : name == "MAX"   ? ForestAggregate::kMax
                                         : ForestAggregate::kSum;
  }
  const std::vector<double> base = NumbersOf(c, "base_values", "base_values_as_tensor");
  Status fits = CheckBase(c, base, targets);
  if (!fits.ok()) return c.Fail(std::move(fits));
  const ValueId scores = WithBase(c, Grown(c, std::move(trees)), base);
  c.SetOutput(0, Transformed(c, c.Cast(scores, DType::kFloat32), targets));
}

Status InferClassifier(InferContext& context) {
  const Node& node = context.node();
  if (!StringsOf(node, "classlabels_strings").empty()) {
    return Unimplemented(
        "TreeEnsembleClassifier gives strings, which do not run here; give "
        "classlabels_int64s and look the names up behind the model");
  }
  HR_RETURN_IF_ERROR(PostTransformOf(node).status());
  HR_ASSIGN_OR_RETURN(const FeatureDims dims, CheckFeatures(context));
  const auto labels = static_cast<int64_t>(node.Ints("classlabels_int64s").size());
  if (labels < 2) {
    return InvalidArgument("TreeEnsembleClassifier wants two classlabels_int64s or more, got ",
                           labels);
  }
  SetDims(context, 0, DType::kInt64, {dims.rows});
  SetDims(context, 1, DType::kFloat32, {dims.rows, FixedDim(labels)});
  return {};
}

// Two labels, and weights of class 0 alone: they speak for the second label. Scores of weights that
// are all positive are probabilities.
void ComposeBinary(ComposeContext& c, ValueId score, ValueId labels, bool probability) {
  const ValueId limit = c.Scalar(probability ? 0.5 : 0, score);
  const ValueId second = c.Cast(c.Emit("Greater", {score, limit}), DType::kInt64);
  c.SetOutput(0, c.Emit("Gather", {labels, c.Emit("Squeeze", {second, c.Int(1)})}));
  const bool logistic = c.node().String("post_transform", "NONE") == "LOGISTIC";
  const ValueId other = probability && !logistic ? c.Sub(c.Scalar(1, score), score) : c.Neg(score);
  const ValueId both = c.Concat(std::array{other, score}, 1);
  c.SetOutput(1, logistic ? c.Emit("Sigmoid", {both}) : both);
}

void ComposeClassifier(ComposeContext& c) {
  const std::vector<int64_t> given = TreeInts(c, "classlabels_int64s"),
                             ids = TreeInts(c, "class_ids");
  const auto count = static_cast<int64_t>(given.size());
  const bool binary =
      count == 2 && std::all_of(ids.begin(), ids.end(), [](int64_t id) { return id == 0; });
  const std::vector<double> base = NumbersOf(c, "base_values", "base_values_as_tensor");
  const std::vector<double> weights = NumbersOf(c, "class_weights", "class_weights_as_tensor");
  const bool positive =
      std::all_of(weights.begin(), weights.end(), [](double weight) { return weight >= 0; });
  Status fits = CheckBase(c, base, binary ? 1 : count);
  if (!fits.ok()) return c.Fail(std::move(fits));
  const ValueId sums = WithBase(c, Grown(c, ReadModel(c, kClassNames, binary ? 1 : count)), base);
  const ValueId scores = c.Cast(sums, DType::kFloat32), labels = c.Ints(given);
  if (binary && c.node().String("post_transform", "NONE") == "PROBIT") {
    return c.Fail(Unimplemented("TreeEnsembleClassifier has no PROBIT for a single score"));
  }
  if (binary) return ComposeBinary(c, scores, labels, positive);
  const ValueId largest =
      c.Emit("ArgMax", {scores}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}});
  c.SetOutput(0, c.Emit("Gather", {labels, largest}));
  c.SetOutput(1, Transformed(c, scores, count));
}

// (x [N, features]) → [N, n_targets], of x's type
Status InferEnsemble(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectFloating(0));
  HR_RETURN_IF_ERROR(context.ExpectRank(0, 2));
  const Node& node = context.node();
  const int64_t targets = node.Int("n_targets", 1);
  const int64_t aggregate = node.Int("aggregate_function", 1);
  const int64_t transform = node.Int("post_transform", 0);
  if (targets < 1 || targets > (int64_t{1} << 31) || aggregate < 0 || aggregate > 3 ||
      transform < 0 || transform > 4) {
    return InvalidArgument(
        "TreeEnsemble wants n_targets from 1 on, an aggregate_function from 0 "
        "to 3 and a post_transform from 0 to 4, got ",
        targets, ", ", aggregate, " and ", transform);
  }
  const ValueType& x = context.input(0);
  SetDims(context, 0, x.dtype, {x.ranked ? x.dims[0] : Dim(), FixedDim(targets)});
  return {};
}

void ComposeEnsemble(ComposeContext& c) {
  const int64_t targets = c.node().Int("n_targets", 1);
  const int64_t transform = c.node().Int("post_transform", 0);
  const int64_t aggregate = c.node().Int("aggregate_function", 1);
  Result<Trees> trees = ReadEnsemble(c);
  if (trees.ok()) {
    trees->targets = targets;
    trees->aggregate = static_cast<ForestAggregate>(aggregate);
  }
  const ValueId scores = Grown(c, std::move(trees));
  const ValueId out = Transformed(c, scores, targets, static_cast<PostTransform>(transform));
  c.SetOutput(0, c.ok() ? c.CastLike(out, c.input(0)) : kNone);
}

constexpr OpDef kMlTreeOps[] = {
    {.domain = kTrees,
     .name = "Forest",
     .inputs = {7, 7},
     .attributes = kForestAttributes,
     .infer = InferForest},
    {.domain = kMl,
     .name = "TreeEnsembleRegressor",
     .attributes = kTreeRegressorAttributes,
     .infer = InferRegressor,
     .compose = ComposeRegressor},
    {.domain = kMl,
     .name = "TreeEnsembleClassifier",
     .outputs = {2, 2},
     .attributes = kTreeClassifierAttributes,
     .infer = InferClassifier,
     .compose = ComposeClassifier},
    {.domain = kMl,
     .name = "TreeEnsemble",
     .since_version = 5,
     .attributes = kEnsembleAttributes,
     .infer = InferEnsemble,
     .compose = ComposeEnsemble},
};

}  // namespace

OpFamily MlTreeOps() { return Chosen<kMlTreeOps>(); }

}  // namespace hr::ops
