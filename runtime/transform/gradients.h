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

}  // namespace hr::transform
