// Recomputes activations inside the steps that compute their gradients.
//
// y = f(x) of a hidden layer is read soon (by the next layer) and again late (by the gradient of
// that layer's weights), and f's gradient reads x late. If the step of that gradient gives f(x)
// once more, beside its own result, y need not be kept from the forward pass on, at no other cost
// than writing it:
//
//   lowered.Elementwise(x, dy, …) → dx, y again
#pragma once

#include "runtime/lowering/region.h"

namespace hr::lowering {

// To be called when element-wise nodes have been joined.
void FuseRecomputation(Region& region);

}  // namespace hr::lowering
