// Random numbers that follow the global example: a rank's part of a batch draws what it would draw
// as that part of the whole batch.
#pragma once

#include "runtime/transform/formula.h"
#include "runtime/transform/rank_nodes.h"

namespace hr::transform {

// What is known about a signature's batch on one rank.
struct BatchOfRank {
  ValueId examples = kNone;  // how many, int64 []; kNone: as many on each rank, of fixed sizes
  graph::Dim axis;           // the axis that counts them
  graph::Marks fed;          // the values that follow from the signature's inputs
};

// Returns those of the marked nodes that draw numbers for the examples of a batch: their shape has
// the batch's axis, or one of which nothing is known; with fixed sizes, those that follow from the
// inputs. UNIMPLEMENTED if a body of a marked node draws numbers, which cannot be numbered.
Result<std::vector<NodeId>> DrawsOfExamples(const GraphBuilder& builder, const graph::Marks& marked,
                                            const BatchOfRank& batch);

// Lets these nodes draw from where the examples of the ranks before this one end. With the batch as
// the first axis that is what one process with all examples draws; otherwise ranks draw different
// numbers, but others than one process would.
Status NumberByExample(GraphBuilder& builder, RankNodes& ranks, Formula& f,
                       std::span<const NodeId> draws, const BatchOfRank& batch);

}  // namespace hr::transform
