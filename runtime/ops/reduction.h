// Gradients of reductions that pools share. `dy` and `y` have the rank of `x`, with 1 where it was
// reduced.
#pragma once

#include "runtime/ops/gradient.h"

namespace hr::ops {

// Each element of x gets its equal share of the mean's gradient.
ValueId SpreadMean(GradientContext& g, ValueId dy, ValueId x);
// The elements of x that equal the extreme y share its gradient.
ValueId SpreadToExtremes(GradientContext& g, ValueId dy, ValueId y, ValueId x);

}  // namespace hr::ops
