// Training steps on many processes: each rank computes the gradients of its own examples, and all
// apply the same mean.
#pragma once

#include "runtime/transform/graph_builder.h"

namespace hr::transform {

struct MirrorOptions {
  // Gradients travel together in buckets: the first has as many bytes at least, so that it starts
  // early, the others this many.
  int64_t first_bucket = int64_t{1} << 20;
  int64_t bucket = int64_t{25} << 20;
  bool bf16 = false;             // gradients travel as bfloat16
  bool zero = false;             // the state of the optimizer is divided (shard_state.h) …
  int64_t ranks = 0;             // … among so many ranks
  bool sync_batch_norm = false;  // batches are normalized by the statistics of all ranks' examples
  bool overlap = true;           // a step goes on while gradients travel
};

// "mirrored", with settings: "mirrored first_bucket=1048576 bucket=26214400 bf16=1
// sync_batch_norm=1 overlap=off".
Result<MirrorOptions> ParseStrategy(std::string_view text);
// The same text for all that mean the same: without settings that are as usual, and without the
// number of ranks, which changes (redivide.h).
std::string StrategyText(const MirrorOptions& options);

// Rewrites the signature, which trains: the gradients that its optimizers get, and its scalar
// outputs that follow from its inputs, become the means over the examples of all ranks of the
// group. A rank's examples are the size of the first axis of the first input that leaves it open;
// if all inputs have fixed sizes, ranks count alike. Gradients are averaged before they are
// accumulated or clipped. Random numbers follow the global example (example_numbers.h). Other
// signatures get copies of nodes that communicate from now on. FAILED_PRECONDITION if the signature
// updates nothing, ALREADY_EXISTS if it communicates in the group already or is distributed over
// another one, UNIMPLEMENTED if a body
// draws random numbers. A failure leaves the graph as it was.
Status Mirror(GraphBuilder& builder, std::string_view signature, std::string_view group,
              const MirrorOptions& options);

}  // namespace hr::transform
