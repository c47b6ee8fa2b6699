// Symbolic reverse-mode differentiation.
#pragma once

#include "runtime/transform/graph_builder.h"

namespace hr::transform {

// Adds nodes that compute d(sum over ys of sum(y * grad_y)) / dx for each x, and returns one value
// per x; kNone for an x on which no y depends through differentiable operators. `grad_ys` is empty
// (all ones) or has a value, or kNone for ones, per y. The gradients' types are those of the xs. A
// failure leaves the graph as it was.
Result<std::vector<ValueId>> AddGradients(GraphBuilder& builder, std::span<const ValueId> ys,
                                          std::span<const ValueId> xs,
                                          std::span<const ValueId> grad_ys = {});

// Adds nodes that compute the gradient of the scalar `loss` for each of the variables, summed over
// whichever of their reads it depends on; kNone for a variable on which it does not depend. The
// sums are computed where the session chooses. A failure leaves the graph as it was.
Result<std::vector<ValueId>> VariableGradients(GraphBuilder& builder, ValueId loss,
                                               std::span<const uint32_t> variables);

}  // namespace hr::transform
