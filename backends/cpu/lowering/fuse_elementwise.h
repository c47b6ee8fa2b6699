// Joins chains of element-wise operators into cpu.Elementwise, which computes the whole chain block
// by block without writing what lies between.
#pragma once

#include "backends/cpu/lowering/region.h"

namespace hr::cpu {

void FuseElementwise(Region& region);

}  // namespace hr::cpu
