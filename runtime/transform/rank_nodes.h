// Nodes that communicate in one group, added to a graph that did not.
#pragma once

#include "runtime/transform/graph_builder.h"

namespace hr::transform {

class RankNodes {
 public:
  // `overlap`: a step goes on while an operation is on its way, until its result is needed.
  RankNodes(GraphBuilder& builder, std::string_view group, bool overlap = true)
      : builder_(builder), group_(group), overlap_(overlap) {}

  // One operation on tensors of one type; `op` is "sum" or "average". `weight` (float64 []) is what
  // this rank's tensors are multiplied by, or kNone.
  Result<std::vector<ValueId>> AllReduce(std::vector<ValueId> values, std::string_view op,
                                         ValueId weight = kNone);
  // This rank's block of the reduction, of `ranks` blocks along the first axis; and the blocks of
  // all.
  Result<ValueId> ReduceScatter(ValueId value, std::string_view op, int64_t ranks);
  Result<ValueId> AllGather(ValueId value, int64_t ranks);
  // A row for each rank, with its part of each value; and what rows have of values of so many
  // elements each.
  Result<ValueId> Pack(std::vector<ValueId> values, int64_t ranks);
  Result<std::vector<ValueId>> Unpack(ValueId rows, const std::vector<int64_t>& elements,
                                      int64_t ranks);
  // The sum of the value on the ranks before this one.
  Result<ValueId> Exscan(ValueId value);
  const std::string& group() const { return group_; }
  // Gives all nodes one order that fits what they need, so that all ranks post them alike: to be
  // called when nothing of the graph changes any more.
  Status Order();

 private:
  // A node of this group, which may communicate.
  Result<NodeId> AddNode(std::string_view op, std::vector<ValueId> inputs, size_t outputs,
                         std::vector<graph::Attribute> attributes);
  // One that does.
  Result<std::vector<ValueId>> Add(std::string_view op, std::vector<ValueId> inputs, size_t outputs,
                                   std::vector<graph::Attribute> attributes);

  GraphBuilder& builder_;
  const std::string group_;
  const bool overlap_;
  std::vector<NodeId> nodes_;
};

}  // namespace hr::transform
