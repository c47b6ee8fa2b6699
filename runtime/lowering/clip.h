// The bounds of Relu and Clip, which kernels apply to what they have just computed.
#pragma once

#include <cmath>
#include <optional>

#include "runtime/lowering/region.h"

namespace hr::lowering {

struct Bounds {
  double low = -HUGE_VAL, high = HUGE_VAL;
};

// Returns the bounds of a Clip; nothing for other nodes, or if a bound is not known before the run.
std::optional<Bounds> ClipBounds(const Region& region, graph::NodeId node);

}  // namespace hr::lowering
