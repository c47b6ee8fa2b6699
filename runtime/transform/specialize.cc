#include "runtime/transform/specialize.h"

#include <algorithm>

#include "runtime/base/errors.h"

namespace hr::transform {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

// Marks the nodes that a request needs, walking backwards from what it asks for.
class Marker {
 public:
  Marker(const graph::Graph& graph, const graph::Marks& fed)
      : graph_(graph), fed_(fed), needed_(graph.nodes.size(), false) {}

  void NeedValue(ValueId value) {
    if (value == kNone || fed_[value]) return;
    if (graph_.values[value].producer != kNone) NeedNode(graph_.values[value].producer);
  }
  void NeedNode(NodeId node) {
    if (needed_[node]) return;
    needed_[node] = true;
    stack_.push_back(node);
  }
  graph::Marks Run() {
    while (!stack_.empty()) {
      const graph::Node& node = graph_.nodes[stack_.back()];
      stack_.pop_back();
      for (ValueId input : node.inputs) NeedValue(input);
      for (NodeId control : node.controls) NeedNode(control);
    }
    return std::move(needed_);
  }

 private:
  const graph::Graph& graph_;
  const graph::Marks& fed_;
  graph::Marks needed_;
  std::vector<NodeId> stack_;
};

// Copies the needed part of one graph into a new module.
class Extractor {
 public:
  Extractor(const graph::Module& from, const Request& request)
      : from_(from),
        graph_(from.graphs[request.graph]),
        request_(request),
        to_{.producer = from.producer,
            .opsets = from.opsets,
            .operators = from.operators,
            .symbols = from.symbols,
            .variables = from.variables},
        value_map_(graph_.values.size(), kNone),
        node_map_(graph_.nodes.size(), kNone) {}

  graph::Module Run() {
    graph::Marks fed(graph_.values.size(), false);
    for (const Feed& feed : request_.feeds) fed[feed.value] = true;
    graph::Marks needed = NeededNodes(graph_, fed, request_);

    graph::Signature run{.name = "run"};
    for (const Feed& feed : request_.feeds) {
      graph::Value value{.type = graph::ValueType::Tensor(feed.dtype, feed.dims),
                         .name = graph_.values[feed.value].name};
      value_map_[feed.value] = next_value_++;
      out().values.push_back(std::move(value));
      out().inputs.push_back(value_map_[feed.value]);
      run.inputs.push_back({graph_.values[feed.value].name, value_map_[feed.value]});
    }
    CopyNodes(needed, fed);
    for (ValueId fetch : request_.fetches) {
      run.outputs.push_back({graph_.values[fetch].name, MapValue(fetch)});
    }
    for (NodeId target : request_.targets) run.targets.push_back(node_map_[target]);
    to_.signatures.push_back(std::move(run));
    return std::move(to_);
  }

  // After Run: for each value of the new module, the one that it is a copy of.
  std::vector<ValueId> Origins() const {
    std::vector<ValueId> origins(next_value_);
    for (ValueId id = 0; id < value_map_.size(); ++id) {
      if (value_map_[id] != kNone) origins[value_map_[id]] = id;
    }
    return origins;
  }

 private:
  graph::Graph& out() { return to_.graphs[0]; }

  void CopyNodes(const graph::Marks& needed, const graph::Marks& fed) {
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      if (needed[id]) node_map_[id] = next_node_++;
    }
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      if (!needed[id]) continue;
      graph::Node node = graph_.nodes[id];
      for (ValueId& input : node.inputs) input = MapValue(input);
      for (ValueId& output : node.outputs) {
        if (output == kNone) continue;
        // A fed value is not this node's any more.
        output = fed[output] ? kNone : MapValue(output);
      }
      for (NodeId& control : node.controls) control = node_map_[control];
      for (graph::Attribute& attribute : node.attributes) {
        if (auto* tensor = std::get_if<graph::TensorIndex>(&attribute.value)) {
          tensor->index = AddConstant(tensor->index);
        }
      }
      out().nodes.push_back(std::move(node));
    }
  }

  uint32_t AddConstant(uint32_t index) {
    to_.constants.push_back(from_.constants[index]);
    return static_cast<uint32_t>(to_.constants.size() - 1);
  }

  ValueId MapValue(ValueId id) {
    if (id == kNone) return kNone;
    if (value_map_[id] != kNone) return value_map_[id];
    graph::Value value = graph_.values[id];
    if (value.producer != kNone) value.producer = node_map_[value.producer];
    if (value.constant != kNone) value.constant = AddConstant(value.constant);
    value_map_[id] = next_value_++;
    out().values.push_back(std::move(value));
    return value_map_[id];
  }

  const graph::Module& from_;
  const graph::Graph& graph_;
  const Request& request_;
  graph::Module to_;
  std::vector<ValueId> value_map_;
  std::vector<NodeId> node_map_;
  NodeId next_node_ = 0;
  ValueId next_value_ = 0;
};

Status CheckConcrete(const graph::Module& module) {
  const graph::Graph& graph = module.main();
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    const graph::ValueType& type = graph.values[id].type;
    if (type.FixedDims()) continue;
    return Unimplemented("the shape of '", graph::ValueText(graph, id), "', ",
                         graph::TypeText(type, module.symbols),
                         ", depends on data; this version plans for concrete shapes only");
  }
  return {};
}

bool IsIdentity(const ops::OpDef& def) {
  return def.domain == ops::kOnnx && def.name == "Identity";
}

// Merges pure nodes with the same operator, inputs and attributes, and lets users of an Identity
// use what it copies. `order` is a topological one.
void MergeEqualNodes(const ops::OpRegistry& registry, const std::vector<NodeId>& order,
                     graph::Module& module) {
  graph::Graph& graph = module.main();
  std::vector<ValueId> replacement(graph.values.size());
  for (ValueId i = 0; i < replacement.size(); ++i) replacement[i] = i;
  // Nodes met so far, in lists by the hash of what must be equal.
  std::vector<NodeId> first(graph.nodes.size(), kNone), next = first;
  for (NodeId id : order) {
    graph::Node& node = graph.nodes[id];
    for (ValueId& input : node.inputs) {
      if (input != kNone) input = replacement[input];
    }
    const ops::OpDef& def = ops::DefOf(registry, module, node);
    if (!def.foldable() || !node.controls.empty()) continue;
    if (IsIdentity(def)) {
      if (node.outputs[0] != kNone) replacement[node.outputs[0]] = node.inputs[0];
      continue;
    }
    uint64_t hash = node.op;
    for (ValueId input : node.inputs) hash = (hash ^ input) * 0x9E3779B97F4A7C15u;
    const auto differs = [&](const graph::Node& other) {
      return other.op != node.op || other.inputs != node.inputs ||
             other.attributes != node.attributes || other.outputs.size() != node.outputs.size() ||
             other.device != node.device;
    };
    NodeId& head = first[(hash >> 32) % first.size()];
    NodeId twin = head;
    while (twin != kNone && differs(graph.nodes[twin])) twin = next[twin];
    if (twin == kNone) {
      next[id] = std::exchange(head, id);
      continue;
    }
    const auto& kept = graph.nodes[twin].outputs;
    bool covers = true;
    for (size_t i = 0; i < kept.size(); ++i) covers &= node.outputs[i] == kNone || kept[i] != kNone;
    if (!covers) continue;
    for (size_t i = 0; i < kept.size(); ++i) {
      if (node.outputs[i] != kNone) replacement[node.outputs[i]] = kept[i];
    }
  }
  for (graph::Port& port : module.signatures[0].outputs) {
    const NodeId producer = graph.values[port.value].producer;
    if (producer != kNone && IsIdentity(ops::DefOf(registry, module, graph.nodes[producer]))) {
      continue;  // the copy is asked for
    }
    port.value = replacement[port.value];
  }
}

// Every value that is neither computed nor constant must be fed.
Status CheckFed(const graph::Module& module) {
  const graph::Graph& graph = module.main();
  std::vector<std::string> missing;
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    const graph::Value& value = graph.values[id];
    if (value.producer != kNone || value.constant != kNone) continue;
    if (std::find(graph.inputs.begin(), graph.inputs.end(), id) != graph.inputs.end()) continue;
    missing.push_back(Cat("'", graph::ValueText(graph, id), "' (",
                          graph::TypeText(value.type, module.symbols), ")"));
  }
  if (missing.empty()) return {};
  return InvalidArgument("the run needs ", Join(missing), ", which nothing feeds; bind ",
                         missing.size() == 1 ? "it" : "them", " first");
}

}  // namespace

graph::Marks NeededNodes(const graph::Graph& graph, const graph::Marks& fed,
                         const Request& request) {
  Marker marker(graph, fed);
  for (ValueId fetch : request.fetches) marker.NeedValue(fetch);
  for (NodeId target : request.targets) marker.NeedNode(target);
  return marker.Run();
}

namespace {

// Returns the nodes that the run needs. `origins` gets, for each value of the result, the one of
// `module` that it is a copy of; may be null.
graph::Module NeededPart(const graph::Module& module, std::vector<ValueId>* origins) {
  const graph::Signature& run = module.signatures[0];
  Request request{.targets = run.targets};
  for (const graph::Port& port : run.inputs) {
    const graph::ValueType& type = module.main().values[port.value].type;
    request.feeds.push_back({port.value, type.dtype, *type.FixedDims()});
  }
  for (const graph::Port& port : run.outputs) request.fetches.push_back(port.value);
  Extractor extractor(module, request);
  graph::Module part = extractor.Run();
  if (origins != nullptr) *origins = extractor.Origins();
  return part;
}

}  // namespace

graph::Module RemoveDeadNodes(const graph::Module& module) { return NeededPart(module, nullptr); }

Result<graph::Module> Specialize(const ops::OpRegistry& registry, const graph::Module& module,
                                 const Request& request, ConstantEvaluator* evaluator,
                                 Allocator& allocator, Recipe* recipe) {
  HR_RETURN_IF_ERROR(CheckRequest(module, request));
  graph::Module part = Extractor(module, request).Run();
  HR_RETURN_IF_ERROR(CheckFed(part));
  Recipe once;
  if (recipe == nullptr) {
    recipe = &once;
  } else {
    recipe->part = part;
  }
  // A node that another one waits for must run, even if the value of that other one becomes a
  // constant.
  for (const graph::Node& node : part.main().nodes) {
    for (NodeId awaited : node.controls) part.signatures[0].targets.push_back(awaited);
  }
  HR_RETURN_IF_ERROR(InferAndFold({registry, evaluator, allocator}, part, &recipe->folds));
  MergeEqualNodes(registry, recipe->folds.order, part);
  part = NeededPart(part, &recipe->origins);
  HR_RETURN_IF_ERROR(CheckConcrete(part));
  return part;
}

Result<graph::Module> AtSizes(const ops::OpRegistry& registry, const Recipe& recipe,
                              const graph::Module& specialized, std::span<const Feed> feeds,
                              ConstantEvaluator* evaluator, Allocator& allocator) {
  graph::Module part = recipe.part;
  for (size_t i = 0; i < feeds.size(); ++i) {
    part.main().values[part.main().inputs[i]].type =
        graph::ValueType::Tensor(feeds[i].dtype, feeds[i].dims);
  }
  HR_RETURN_IF_ERROR(InferAndFoldAgain({registry, evaluator, allocator}, recipe.folds, part));
  graph::Module out = specialized;
  for (ValueId id = 0; id < out.main().values.size(); ++id) {
    graph::Value& value = out.main().values[id];
    const graph::Value& now = part.main().values[recipe.origins[id]];
    value.type = now.type;
    if (value.constant != kNone) out.constants[value.constant] = part.constants[now.constant];
  }
  HR_RETURN_IF_ERROR(CheckConcrete(out));
  return out;
}

}  // namespace hr::transform
