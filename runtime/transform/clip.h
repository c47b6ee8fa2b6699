// Gradients that are kept small.
#pragma once

#include "runtime/transform/graph_builder.h"

namespace hr::transform {

// Bounds; 0: none. They apply in this order.
struct Clipping {
  double value = 0;        // of each element, both ways
  double norm = 0;         // of each gradient: scaled down to this Euclidean norm
  double global_norm = 0;  // of all gradients together

  bool any() const { return value != 0 || norm != 0 || global_norm != 0; }
};

// "global_norm=1", or several such.
Result<Clipping> ParseClipping(std::string_view text);
// INVALID_ARGUMENT if a bound named `name` cannot be `value`.
Status CheckBound(std::string_view name, double value);

// Replaces each gradient that is not kNone by the clipped one, of the same type. Returns the global
// norm that they had before that bound (float32, or float64 if a gradient is), if `wants_norm` or
// if it is bounded, and kNone otherwise. Norms are computed in float32 for narrower gradients. A
// failure leaves the graph and the gradients as they were.
Result<ValueId> ClipGradients(GraphBuilder& builder, const Clipping& clipping, bool wants_norm,
                              std::span<ValueId> gradients);

// Marks the gradients that are not kNone as what the step starts from (headrace.train.Gradient),
// before they are accumulated or clipped.
Status MarkGradients(GraphBuilder& builder, std::span<ValueId> gradients);

}  // namespace hr::transform
