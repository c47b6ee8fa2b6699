// Control flow (ops/control.h) as graphs: what takes the place of Call and Scan, and the gradients
// of If and Loop.
#pragma once

#include "runtime/transform/graph_builder.h"

namespace hr::transform {

// Emit what takes the node's place, with other values in the place of its inputs, and return the
// values of its outputs; kNone for those that the node does not have. A Scan becomes a Loop.
Result<std::vector<ValueId>> EmitCall(GraphBuilder& builder, NodeId node,
                                      std::span<const ValueId> inputs);
Result<std::vector<ValueId>> EmitScan(GraphBuilder& builder, NodeId node,
                                      std::span<const ValueId> inputs);

// Emits the gradients of an If's or Loop's inputs: `grads` has one for each output, or kNone;
// `wanted` says whose gradients are asked for. Returns one for each input, kNone for those that
// nobody wants.
//
// The gradient of an If is an If whose branches compute the branch again, and then its gradient.
// A Loop keeps the states at the start of each iteration (its node gets more outputs), and its
// gradient is a Loop that goes through them backwards. For that the shapes of the states must be
// the same in all iterations; a run in which they are not fails.
Result<std::vector<ValueId>> ControlGradients(GraphBuilder& builder, NodeId node,
                                              std::span<const ValueId> grads,
                                              const graph::Marks& wanted);

}  // namespace hr::transform
