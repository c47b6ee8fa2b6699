#include "runtime/transform/rank_nodes.h"

#include <algorithm>

namespace hr::transform {

Result<NodeId> RankNodes::AddNode(std::string_view op, std::vector<ValueId> inputs, size_t outputs,
                                  std::vector<graph::Attribute> attributes) {
  graph::Append(&attributes, {"group", group_});
  return builder_.AddNode({.domain = std::string(ops::kComm),
                           .op = std::string(op),
                           .inputs = std::move(inputs),
                           .outputs = outputs,
                           .attributes = std::move(attributes),
                           .chained = false});
}

Result<std::vector<ValueId>> RankNodes::Add(std::string_view op, std::vector<ValueId> inputs,
                                            size_t outputs,
                                            std::vector<graph::Attribute> attributes) {
  if (!overlap_) graph::Append(&attributes, {"overlap", "off"});
  HR_ASSIGN_OR_RETURN(const NodeId node,
                      AddNode(op, std::move(inputs), outputs, std::move(attributes)));
  nodes_.push_back(node);
  return builder_.graph().nodes[node].outputs;
}

Result<std::vector<ValueId>> RankNodes::AllReduce(std::vector<ValueId> values, std::string_view op,
                                                  ValueId weight) {
  const size_t outputs = values.size();
  auto attributes = graph::Attributes({{"op", op}});
  if (weight != kNone) {
    values.push_back(weight);
    graph::Append(&attributes, {"weighted", int64_t{1}});
  }
  return Add("AllReduce", std::move(values), outputs, std::move(attributes));
}

Result<ValueId> RankNodes::ReduceScatter(ValueId value, std::string_view op, int64_t ranks) {
  HR_ASSIGN_OR_RETURN(const auto out, Add("ReduceScatter", {value}, 1,
                                          graph::Attributes({{"op", op}, {"ranks", ranks}})));
  return out[0];
}

Result<ValueId> RankNodes::AllGather(ValueId value, int64_t ranks) {
  HR_ASSIGN_OR_RETURN(const auto out,
                      Add("AllGather", {value}, 1, graph::Attributes({{"ranks", ranks}})));
  return out[0];
}

Result<ValueId> RankNodes::Pack(std::vector<ValueId> values, int64_t ranks) {
  HR_ASSIGN_OR_RETURN(const NodeId node,
                      AddNode("Pack", std::move(values), 1, graph::Attributes({{"ranks", ranks}})));
  return builder_.graph().nodes[node].outputs[0];
}

Result<std::vector<ValueId>> RankNodes::Unpack(ValueId rows, const std::vector<int64_t>& elements,
                                               int64_t ranks) {
  auto attributes = graph::Attributes({{"ranks", ranks}});
  graph::Append(&attributes, {"elements", std::span<const int64_t>(elements)});
  HR_ASSIGN_OR_RETURN(const NodeId node,
                      AddNode("Unpack", {rows}, elements.size(), std::move(attributes)));
  return builder_.graph().nodes[node].outputs;
}

Result<ValueId> RankNodes::Exscan(ValueId value) {
  HR_ASSIGN_OR_RETURN(const auto out, Add("Exscan", {value}, 1, {}));
  return out[0];
}

Status RankNodes::Order() {
  HR_ASSIGN_OR_RETURN(const auto order, graph::TopologicalOrder(builder_.graph()));
  NodeId last = kNone;
  for (NodeId id : order) {
    if (std::find(nodes_.begin(), nodes_.end(), id) == nodes_.end()) continue;
    if (last != kNone) builder_.AddControl(id, last);
    last = id;
  }
  return {};
}

}  // namespace hr::transform
