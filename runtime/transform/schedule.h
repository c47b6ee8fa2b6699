// Learning rates that change from step to step, as nodes that compute them from a counter.
#pragma once

#include "runtime/transform/graph_builder.h"

namespace hr::transform {

// Adds a learning rate of type float64 [] that follows `text`, such as "cosine base=0.1 warmup=500
// steps=10000"; docs/training.md lists the schedules with their formulas. It counts the runs of
// `signature` in the variable "<signature>/step", which all schedules of a signature share, and
// becomes the signature's output "learning_rate" if it has none. INVALID_ARGUMENT if the settings
// make no schedule. A failure leaves the graph as it was.
Result<ValueId> AddSchedule(GraphBuilder& builder, std::string_view signature,
                            std::string_view text);

}  // namespace hr::transform
