// Graphs whose ranks divide the optimizer's state (shard_state.h), for another number of ranks.
#pragma once

#include "runtime/ops/op_def.h"

namespace hr::transform {

// Returns the module as it would be if it had been made for so many ranks of the group. Variables,
// values and nodes keep their numbers and names; what is divided starts as zeros. INVALID_ARGUMENT
// if other nodes are made for the number that it has.
Result<graph::Module> Redivided(Allocator& allocator, const ops::OpRegistry& registry,
                                graph::Module module, std::string_view group, int64_t ranks);

}  // namespace hr::transform
