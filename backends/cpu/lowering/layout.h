// Decides which values are kept batch-blocked, and inserts the conversions at the borders.
#pragma once

#include "backends/cpu/lowering/region.h"

namespace hr::cpu {

// cpu.Conv and its gradients, pools, and element-wise operators between them run batch-blocked
// where the batch is large enough; cpu.ToBatchBlocked and cpu.FromBatchBlocked convert.
void AssignLayouts(Region& region);

}  // namespace hr::cpu
