#include "runtime/transform/extract.h"

#include <algorithm>

namespace hr::transform {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

// Marks the nodes that a request needs, walking backwards from what it asks for.
class Marker {
 public:
  // `done` may be null.
  Marker(const graph::Graph& graph, const graph::Marks& fed, const graph::Marks* done)
      : graph_(graph), fed_(fed), done_(done), needed_(graph.nodes.size(), false) {}

  void NeedValue(ValueId value) {
    if (value == kNone || fed_[value]) return;
    if (graph_.values[value].producer != kNone) NeedNode(graph_.values[value].producer);
  }
  void NeedNode(NodeId node) {
    if (needed_[node] || (done_ != nullptr && (*done_)[node])) return;
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
  const graph::Marks* done_;
  graph::Marks needed_;
  std::vector<NodeId> stack_;
};

graph::Marks Needed(const graph::Graph& graph, const graph::Marks& fed, const Request& request,
                    const graph::Marks* done) {
  Marker marker(graph, fed, done);
  for (ValueId fetch : request.fetches) marker.NeedValue(fetch);
  for (NodeId target : request.targets) marker.NeedNode(target);
  return marker.Run();
}

// Copies the needed part of one graph into a new module.
class Extractor {
 public:
  Extractor(const graph::Module& from, const Request& request, const graph::Marks* done)
      : from_(from),
        graph_(from.graphs[request.graph]),
        request_(request),
        done_(done),
        to_{.producer = from.producer,
            .opsets = from.opsets,
            .operators = from.operators,
            .symbols = from.symbols,
            .variables = from.variables},
        value_map_(graph_.values.size(), kNone),
        node_map_(graph_.nodes.size(), kNone),
        body_map_(from.graphs.size(), kNone) {}

  Extraction Run() {
    graph::Marks fed(graph_.values.size(), false);
    for (const Feed& feed : request_.feeds) fed[feed.value] = true;
    const graph::Marks needed = Needed(graph_, fed, request_, done_);

    graph::Signature run{.name = "run"};
    for (const Feed& feed : request_.feeds) {
      const graph::Value& old = graph_.values[feed.value];
      graph::Value value{.type = feed.dtype == DType::kUndefined
                                     ? old.type
                                     : graph::ValueType::Tensor(feed.dtype, feed.dims),
                         .name = old.name};
      value_map_[feed.value] = next_value_++;
      out().values.push_back(std::move(value));
      out().inputs.push_back(value_map_[feed.value]);
      run.inputs.push_back({old.name, value_map_[feed.value]});
    }
    CopyNodes(needed, fed);
    for (ValueId fetch : request_.fetches) {
      run.outputs.push_back({graph_.values[fetch].name, MapValue(fetch)});
    }
    for (NodeId target : request_.targets) {
      if (node_map_[target] != kNone) run.targets.push_back(node_map_[target]);
    }
    to_.signatures.push_back(std::move(run));
    return {std::move(to_), Origins()};
  }

 private:
  graph::Graph& out() { return to_.graphs[0]; }

  // For each value of the new module, the one that it is a copy of.
  std::vector<ValueId> Origins() const {
    std::vector<ValueId> origins(next_value_);
    for (ValueId id = 0; id < value_map_.size(); ++id) {
      if (value_map_[id] != kNone) origins[value_map_[id]] = id;
    }
    return origins;
  }

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
        output = fed[output] ? Unused(output) : MapValue(output);
      }
      for (NodeId& control : node.controls) control = node_map_[control];
      std::erase(node.controls, kNone);  // those that ran before
      MapAttributes(node);
      out().nodes.push_back(std::move(node));
    }
  }

  void MapAttributes(graph::Node& node) {
    for (graph::Attribute& attribute : node.attributes) {
      if (auto* tensor = std::get_if<graph::TensorIndex>(&attribute.value)) {
        tensor->index = AddConstant(tensor->index);
      }
      if (auto* body = std::get_if<graph::GraphIndex>(&attribute.value)) {
        body->index = AddBody(body->index);
      }
    }
  }

  uint32_t AddConstant(uint32_t index) {
    to_.constants.push_back(from_.constants[index]);
    return static_cast<uint32_t>(to_.constants.size() - 1);
  }

  // Bodies do not contain themselves, and do not nest too deep for recursion (graph::Verify).
  uint32_t AddBody(uint32_t index) {
    if (body_map_[index] != kNone) return body_map_[index];
    graph::Graph body = from_.graphs[index];
    for (graph::Value& value : body.values) {
      if (value.constant != kNone) value.constant = AddConstant(value.constant);
    }
    for (graph::Node& node : body.nodes) MapAttributes(node);
    to_.graphs.push_back(std::move(body));
    return body_map_[index] = static_cast<uint32_t>(to_.graphs.size() - 1);
  }

  // A fed value is not its node's any more, which may run for something else and then computes a
  // value that nobody reads.
  ValueId Unused(ValueId id) {
    const graph::Value& old = graph_.values[id];
    out().values.push_back({.type = old.type, .producer = node_map_[old.producer]});
    return next_value_++;
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
  const graph::Marks* done_;
  graph::Module to_;
  std::vector<ValueId> value_map_;
  std::vector<NodeId> node_map_;
  std::vector<uint32_t> body_map_;
  NodeId next_node_ = 0;
  ValueId next_value_ = 0;
};

}  // namespace

Extraction Extract(const graph::Module& module, const Request& request, const graph::Marks* done) {
  return Extractor(module, request, done).Run();
}

Extraction NeededPart(const graph::Module& module) {
  const graph::Signature& run = module.signatures[0];
  Request request{.targets = run.targets};
  for (const graph::Port& port : run.inputs) request.feeds.push_back({.value = port.value});
  for (const graph::Port& port : run.outputs) request.fetches.push_back(port.value);
  return Extract(module, request);
}

graph::Marks NeededNodes(const graph::Graph& graph, const graph::Marks& fed,
                         const Request& request) {
  return Needed(graph, fed, request, nullptr);
}

graph::Marks NodesOfSignature(const graph::Graph& graph, const graph::Signature& signature) {
  Request all{.targets = signature.targets};
  for (const graph::Port& port : signature.outputs) all.fetches.push_back(port.value);
  return NeededNodes(graph, graph::Marks(graph.values.size(), false), all);
}

}  // namespace hr::transform
