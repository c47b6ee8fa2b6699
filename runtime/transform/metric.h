// Metrics of an evaluation, as nodes that keep sums in variables.
#pragma once

#include "runtime/transform/graph_builder.h"

namespace hr::transform {

// What the name of the signature that resets the metrics of another one ends with.
inline constexpr std::string_view kResetSuffix = "/reset";

// Adds the output `name` to `signature`: the metric that `text` describes, such as "top_k k=5", of
// all batches since the signature "<signature>/reset", which is added, was run last. The sums are
// variables named "<signature>/<name>/…". docs/training.md lists the metrics, their inputs and
// their settings. INVALID_ARGUMENT if inputs do not have the shapes that the metric takes,
// ALREADY_EXISTS if the signature has the output. A failure leaves the graph as it was.
Status AddMetric(GraphBuilder& builder, std::string_view signature, std::string_view name,
                 std::string_view text, std::span<const ValueId> inputs);

}  // namespace hr::transform
