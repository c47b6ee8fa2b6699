#include "runtime/lowering/schedule.h"

#include <algorithm>

#include "runtime/lowering/communication.h"
#include "runtime/lowering/region.h"

namespace hr::lowering {

using graph::NodeId;

std::vector<uint32_t> WrittenVariables(const ops::OpRegistry& operators,
                                       const graph::Module& module, const graph::Node& node) {
  const graph::Operator& op = module.OperatorOf(node);
  std::vector<uint32_t> out;
  auto add = [&](int64_t variable) {
    out.push_back(variable < 0 ? graph::kNone : static_cast<uint32_t>(variable));
  };
  if (op.domain == kLowered) {
    for (int64_t variable : node.Ints("variables")) add(variable);
  } else if (const ops::OpDef* def = operators.Find(op.domain, op.name, op.version)) {
    for (const ops::AttributeDef& attribute : def->attributes) {
      const bool variable = attribute.effect.kind == ops::ResourceKind::kVariable;
      if (variable && attribute.effect.writes) add(node.Int(attribute.name, -1));
    }
  }
  return out;
}

namespace {

// Lets operations of groups start as soon as their operands are there: each is moved forward to
// where the last node that it needs stands.
void HoistCommunication(const graph::Module& module, std::vector<NodeId>* order) {
  const graph::Graph& graph = module.main();
  std::vector<NodeId> waiting;
  for (NodeId id : *order) {
    if (IsCommunication(module, graph.nodes[id])) waiting.push_back(id);
  }
  if (waiting.empty()) return;
  graph::Marks done(graph.nodes.size(), false);
  std::vector<NodeId> out;
  const auto ready = [&](NodeId id) {
    const graph::Node& node = graph.nodes[id];
    bool all = true;
    for (graph::ValueId input : node.inputs) {
      const bool made = input != graph::kNone && graph.values[input].producer != graph::kNone;
      all &= !made || done[graph.values[input].producer] != 0;
    }
    for (NodeId control : node.controls) all &= done[control] != 0;
    return all;
  };
  const auto add = [&](NodeId id) {
    done[id] = true;
    out.push_back(id);
  };
  const auto start_ready = [&] {
    for (size_t i = 0; i < waiting.size();) {
      if (!ready(waiting[i])) {
        ++i;
        continue;
      }
      add(waiting[i]);
      waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
      i = 0;  // others may have waited for it
    }
  };
  start_ready();
  for (NodeId id : *order) {
    if (done[id] || IsCommunication(module, graph.nodes[id])) continue;
    add(id);
    start_ready();
  }
  *order = std::move(out);
}

}  // namespace

Result<std::vector<NodeId>> Schedule(const ops::OpRegistry& operators,
                                     const graph::Module& module) {
  const graph::Graph& graph = module.main();
  HR_ASSIGN_OR_RETURN(std::vector<NodeId> order, graph::TopologicalOrder(graph));
  // A node is late if it writes or follows a write; late nodes keep their order among
  // themselves.
  std::vector<bool> late(graph.nodes.size(), false);
  for (NodeId id : order) {
    const graph::Node& node = graph.nodes[id];
    bool is_late = !WrittenVariables(operators, module, node).empty();
    for (graph::ValueId input : node.inputs) {
      if (input == graph::kNone || graph.values[input].producer == graph::kNone) continue;
      is_late |= late[graph.values[input].producer];
    }
    for (NodeId control : node.controls) is_late |= late[control];
    late[id] = is_late;
  }
  std::stable_partition(order.begin(), order.end(), [&](NodeId id) { return !late[id]; });
  HoistCommunication(module, &order);
  return order;
}

}  // namespace hr::lowering
