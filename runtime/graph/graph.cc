#include "runtime/graph/graph.h"

#include <algorithm>

#include "runtime/base/errors.h"

namespace hr::graph {
namespace {

template <typename T>
const T* FindAs(const Node& node, std::string_view attribute) {
  const AttributeValue* value = node.Find(attribute);
  return value == nullptr ? nullptr : std::get_if<T>(value);
}

}  // namespace

const AttributeValue* Node::Find(std::string_view attribute) const {
  for (const Attribute& candidate : attributes) {
    if (candidate.name == attribute) return &candidate.value;
  }
  return nullptr;
}

int64_t Node::Int(std::string_view attribute, int64_t otherwise) const {
  const auto* value = FindAs<int64_t>(*this, attribute);
  return value == nullptr ? otherwise : *value;
}

double Node::Float(std::string_view attribute, double otherwise) const {
  const auto* value = FindAs<double>(*this, attribute);
  return value == nullptr ? otherwise : *value;
}

std::string_view Node::String(std::string_view attribute, std::string_view otherwise) const {
  const auto* value = FindAs<std::string>(*this, attribute);
  return value == nullptr ? otherwise : std::string_view(*value);
}

std::span<const int64_t> Node::Ints(std::string_view attribute) const {
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

Result<std::vector<NodeId>> TopologicalOrder(const Graph& graph) {
  size_t count = graph.nodes.size();
  std::vector<uint32_t> waiting(count, 0);
  std::vector<std::vector<NodeId>> followers(count);
  auto add_edge = [&](NodeId from, NodeId to) {
    followers[from].push_back(to);
    ++waiting[to];
  };
  for (NodeId id = 0; id < count; ++id) {
    for (ValueId input : graph.nodes[id].inputs) {
      if (input != kNone && graph.values[input].producer != kNone) {
        add_edge(graph.values[input].producer, id);
      }
    }
    for (NodeId control : graph.nodes[id].controls) add_edge(control, id);
  }
  std::vector<NodeId> ready;  // a heap, smallest id first
  auto later = [](NodeId a, NodeId b) { return a > b; };
  for (NodeId id = 0; id < count; ++id) {
    if (waiting[id] == 0) ready.push_back(id);
  }
  std::make_heap(ready.begin(), ready.end(), later);
  std::vector<NodeId> order;
  order.reserve(count);
  while (!ready.empty()) {
    std::pop_heap(ready.begin(), ready.end(), later);
    NodeId id = ready.back();
    ready.pop_back();
    order.push_back(id);
    for (NodeId follower : followers[id]) {
      if (--waiting[follower] != 0) continue;
      ready.push_back(follower);
      std::push_heap(ready.begin(), ready.end(), later);
    }
  }
  if (order.size() != count) {
    return InvalidArgument("the graph has a cycle: ", count - order.size(), " of ", count,
                           " nodes wait for each other");
  }
  return order;
}

}  // namespace hr::graph
