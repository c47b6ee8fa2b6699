// Batch normalization by the statistics of the examples of all ranks.
#pragma once

#include "runtime/transform/formula.h"
#include "runtime/transform/rank_nodes.h"

namespace hr::transform {

// Returns those of the marked nodes that normalize by the statistics of a batch, and their
// gradients.
std::vector<NodeId> BatchStatisticsNodes(const GraphBuilder& builder, const graph::Marks& marked);

// Lets these nodes compute with the statistics of all ranks' examples, which are reduced in one
// operation for each normalization (in float64 two) and one for each gradient. `weight`: this
// rank's share of the examples (float64 []), by which its gradients count; kNone if all ranks have
// the same. Running statistics are the same bits on all ranks then. Inputs must have a known rank.
Status SynchronizeBatchNorm(GraphBuilder& builder, RankNodes& ranks, Formula& f,
                            std::span<const NodeId> nodes, const graph::Marks& marked,
                            ValueId weight);

}  // namespace hr::transform
