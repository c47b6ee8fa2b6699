// The operators of sequences and optionals.
#pragma once

#include "runtime/graph/graph.h"
#include "runtime/session/run_value.h"

namespace hr::session {

// Computes a node of ops/containers.cc, or an Identity of what they make, but not SequenceMap.
// `inputs`: one for each operand, null if it is omitted. Tensors are shared and not copied where
// that is possible.
Result<RunValue> RunContainerNode(Allocator& allocator, const graph::Operator& op,
                                  const graph::Node& node, std::span<const RunValue* const> inputs);

// Tensors of one shape along a new first axis; `step_type` gives the shape of none at all.
Result<Tensor> Stack(Allocator& allocator, std::span<const Tensor> tensors,
                     const graph::ValueType& step_type);

}  // namespace hr::session
