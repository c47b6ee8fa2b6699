// Optimizer state that is divided among ranks (ZeRO, stage 1: Rajbhandari, Rasley, Ruwase, He,
// 2020): each rank gets the sum of its part of the gradients, keeps its part of the state, updates
// its part of the variables, and all get the new values.
#pragma once

#include "runtime/graph/shards.h"
#include "runtime/transform/formula.h"
#include "runtime/transform/rank_nodes.h"

namespace hr::transform {

// Where a gradient enters a step's update: this input of a node.
struct GradientSite {
  NodeId node;
  size_t input;
};

struct ShardOptions {
  int64_t ranks = 1;
  ValueId weight =
      kNone;          // this rank's share of the examples, float64 []; kNone: all have the same
  bool bf16 = false;  // gradients of float32 travel as bfloat16
};

// Divides what follows from the gradients, and updates by them, of a signature whose needed nodes
// are marked. `buckets`: gradients that travel together; one type each. The state of a variable of
// n elements becomes one of ⌈n / ranks⌉, of the same name; returns what the module's metadata are
// to say of them. UNIMPLEMENTED if an optimizer or another node needs whole gradients.
Result<std::vector<graph::Shard>> ShardUpdates(GraphBuilder& builder, RankNodes& ranks, Formula& f,
                                               std::string_view signature,
                                               std::span<const GradientSite> sites,
                                               const graph::Marks& marked,
                                               std::span<const std::vector<ValueId>> buckets,
                                               const ShardOptions& options);

}  // namespace hr::transform
