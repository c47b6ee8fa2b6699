// The number of runs of a signature, kept in a variable.
#pragma once

#include "runtime/transform/graph_builder.h"

namespace hr::transform {

// Returns the variable "<signature>/step", int64 [], which counts the runs of the signature so far:
// schedules and the accumulation of gradients follow it. It is added, with a target of the
// signature that counts, at the first call.
Result<uint32_t> RunCounter(GraphBuilder& builder, std::string_view signature);

}  // namespace hr::transform
