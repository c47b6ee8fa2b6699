#include "runtime/lowering/schedule.h"

#include <algorithm>

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
  return order;
}

}  // namespace hr::lowering
