// Which nodes run on images in another layout than the plain one: batch-blocked
// (kernels/batch_blocked.h) or channels-last (kernels/channels_last.h).
#pragma once

#include "runtime/lowering/region.h"

namespace hr::cpu {

// Convolutions run in the layout that was chosen for them (conv_layouts.h), pools in that of their
// images or, if these are plain, by their size; normalizations and element-wise operators follow
// their images.
lowering::NodeLayouts LayoutsOfImages(lowering::Region& region, graph::NodeId node);

}  // namespace hr::cpu
