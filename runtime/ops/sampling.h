// Images read between their elements, for compositions.
#pragma once

#include <span>

#include "runtime/ops/compose.h"

namespace hr::ops {

// Emits what images [N, C, spatial…] are at points between elements, interpolated linearly, 0
// outside: [N, C, points]. `positions`: [N, points] for each spatial axis, in elements from 0 on.
ValueId SampleLinear(ComposeContext& c, ValueId images, std::span<const ValueId> positions);

}  // namespace hr::ops
