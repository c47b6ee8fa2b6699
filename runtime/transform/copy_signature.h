// A signature's nodes once more, so that one of the two can be changed.
#pragma once

#include "runtime/transform/graph_builder.h"

namespace hr::transform {

// Adds the signature `to` with the inputs and outputs of `from`, and copies of the nodes that it
// needs. Both use the same inputs, constants and variables; a variable for which `instead` has
// another than kNone gives way to that (`instead` may be empty). NOT_FOUND if there is no `from`,
// ALREADY_EXISTS if there is a `to`, FAILED_PRECONDITION if `from` changes variables. A failure
// leaves the graph as it was.
Status CopySignature(GraphBuilder& builder, std::string_view from, std::string_view to,
                     std::span<const uint32_t> instead);

// Gives every other signature that needs one of these nodes copies of all that it needs, so that a
// change of them is one of `signature` alone. Fails as CopySignature does.
Status KeepToSignature(GraphBuilder& builder, std::string_view signature,
                       std::span<const NodeId> nodes);

}  // namespace hr::transform
