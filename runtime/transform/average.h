// Moving averages of weights. The average of a variable is a variable of its type named
// "<variable>/average", which begins with the same value.
#pragma once

#include "runtime/transform/graph_builder.h"

namespace hr::transform {

// Adds the average of a variable that `update` has just written, as a target of the signature:
// average = decay * average + (1 - decay) * variable. With `when` (bool [], or kNone) only where it
// is true. ALREADY_EXISTS if the variable has an average. 0 <= decay < 1.
Status AddAverage(GraphBuilder& builder, std::string_view signature, uint32_t variable,
                  double decay, NodeId update, ValueId when);

// Adds the signature `to`, which computes what `from` does of the averages of those variables that
// have one. FAILED_PRECONDITION if there is no average. A failure leaves the graph as it was.
Status AverageSignature(GraphBuilder& builder, std::string_view from, std::string_view to);

// Adds the signature `name`, whose run swaps every variable that has an average with it.
Status AddSwap(GraphBuilder& builder, std::string_view name);

}  // namespace hr::transform
