// Which nodes run on batch-blocked images (kernels/batch_blocked.h).
#pragma once

#include "runtime/lowering/region.h"

namespace hr::cpu {

// Convolutions and pools choose by the size of their images, element-wise operators follow their
// inputs if all of them have one shape.
lowering::NodeLayouts BatchBlockedLayouts(lowering::Region& region, graph::NodeId node);

}  // namespace hr::cpu
