// Which nodes are the gradients of a convolution.
#pragma once

#include "runtime/lowering/region.h"

namespace hr::cpu {

// Whether a node computes the gradient of this convolution's image, or of its weights: it has the
// same image, weights and attributes. What it has in common with those of others says nothing:
// results that are added have one gradient, and an image or weights may be those of several
// convolutions.
bool IsImageGradientOf(const lowering::Region& region, graph::NodeId id, graph::NodeId conv);
bool IsWeightGradientOf(const lowering::Region& region, graph::NodeId id, graph::NodeId conv);

}  // namespace hr::cpu
