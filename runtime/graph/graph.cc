#include "runtime/graph/graph.h"

#include <functional>
#include <queue>

#include "runtime/base/errors.h"

namespace hr::graph {
namespace {

template <typename T>
const T* FindAs(const Node& node, Literal attribute) {
  const AttributeValue* value = node.Find(attribute);
  return value == nullptr ? nullptr : std::get_if<T>(value);
}

}  // namespace

void Append(std::vector<Attribute>* attributes, const AttributeInit& init) {
  struct Visitor {
    AttributeValue operator()(int64_t value) { return value; }
    AttributeValue operator()(double value) { return value; }
    AttributeValue operator()(std::string_view value) { return std::string(value); }
    AttributeValue operator()(std::span<const int64_t> value) {
      return std::vector<int64_t>(value.begin(), value.end());
    }
  };
  attributes->push_back({std::string(init.name), std::visit(Visitor(), init.value)});
}

std::vector<Attribute> Attributes(std::initializer_list<AttributeInit> list) {
  std::vector<Attribute> out;
  for (const AttributeInit& init : list) Append(&out, init);
  return out;
}

const AttributeValue* Node::Find(Literal attribute) const {
  for (const Attribute& candidate : attributes) {
    if (candidate.name == attribute) return &candidate.value;
  }
  return nullptr;
}

int64_t Node::Int(Literal attribute, int64_t otherwise) const {
  const auto* value = FindAs<int64_t>(*this, attribute);
  return value == nullptr ? otherwise : *value;
}

double Node::Float(Literal attribute, double otherwise) const {
  const auto* value = FindAs<double>(*this, attribute);
  return value == nullptr ? otherwise : *value;
}

std::string_view Node::String(Literal attribute, Literal otherwise) const {
  const auto* value = FindAs<std::string>(*this, attribute);
  return value == nullptr ? std::string_view(otherwise) : *value;
}

std::span<const int64_t> Node::Ints(Literal attribute) const {
  const auto* value = FindAs<std::vector<int64_t>>(*this, attribute);
  return value == nullptr ? std::span<const int64_t>() : std::span<const int64_t>(*value);
}

uint32_t Module::InternOperator(std::string_view domain, std::string_view name, int32_t version) {
  for (uint32_t i = 0; i < operators.size(); ++i) {
    const Operator& op = operators[i];
    if (op.name == name && op.domain == domain && op.version == version) return i;
  }
  operators.push_back({std::string(domain), std::string(name), version});
  return static_cast<uint32_t>(operators.size() - 1);
}

const Signature* Module::FindSignature(std::string_view name) const {
  for (const Signature& signature : signatures) {
    if (signature.name == name) return &signature;
  }
  return nullptr;
}

uint32_t Module::FindVariable(std::string_view name) const {
  for (uint32_t i = 0; i < variables.size(); ++i) {
    if (variables[i].name == name) return i;
  }
  return kNone;
}

Marks Module::InitialConstants() const {
  Marks initial(constants.size(), false);
  for (const Variable& variable : variables) {
    if (variable.initial_constant != kNone) initial[variable.initial_constant] = true;
  }
  return initial;
}

std::string NodeText(const Module& module, const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  if (!node.name.empty()) return node.name;
  return Cat("#", id, " (", module.OperatorOf(node).name, ")");
}

std::string ValueText(const Graph& graph, ValueId id) {
  const std::string& name = graph.values[id].name;
  return name.empty() ? Cat("#", id) : name;
}

ValueId FindValue(const Graph& graph, std::string_view name) {
  if (name.empty()) return kNone;
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    if (graph.values[id].name == name) return id;
  }
  return kNone;
}

namespace {

// Who waits for whom: followers of node n are edges[begin[n]] to edges[begin[n + 1]].
struct Followers {
  std::vector<size_t> begin;
  std::vector<NodeId> edges;
  std::vector<size_t> waiting;  // for how many edges each node waits

  explicit Followers(const Graph& graph) : begin(graph.nodes.size() + 2), waiting(begin.size()) {
    ForEachEdge(graph, [&](NodeId from, NodeId to) {
      ++begin[from + 2];
      ++waiting[to];
    });
    for (size_t i = 2; i < begin.size(); ++i) begin[i] += begin[i - 1];
    edges.resize(begin.back());
    // begin[n + 1] is where the next follower of n goes, and ends up where those of n + 1 begin.
    ForEachEdge(graph, [&](NodeId from, NodeId to) { edges[begin[from + 1]++] = to; });
  }

  template <typename Visit>
  static void ForEachEdge(const Graph& graph, Visit visit) {
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
      for (ValueId input : graph.nodes[id].inputs) {
        if (input == kNone) continue;
        NodeId producer = graph.values[input].producer;
        if (producer != kNone) visit(producer, id);
      }
      for (NodeId control : graph.nodes[id].controls) visit(control, id);
    }
  }
};

}  // namespace

Result<std::vector<NodeId>> TopologicalOrder(const Graph& graph) {
  size_t count = graph.nodes.size();
  Followers followers(graph);
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;  // smallest id first
  for (NodeId id = 0; id < count; ++id) {
    if (followers.waiting[id] == 0) ready.push(id);
  }
  std::vector<NodeId> order;
  order.reserve(count);
  while (!ready.empty()) {
    NodeId id = ready.top();
    ready.pop();
    order.push_back(id);
    for (size_t edge = followers.begin[id]; edge < followers.begin[id + 1]; ++edge) {
      NodeId follower = followers.edges[edge];
      if (--followers.waiting[follower] == 0) ready.push(follower);
    }
  }
  if (order.size() != count) {
    return InvalidArgument("the graph has a cycle: ", count - order.size(), " of ", count,
                           " nodes wait for each other");
  }
  return order;
}

}  // namespace hr::graph
