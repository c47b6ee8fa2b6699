// Joins chains of element-wise operators, so that a kernel computes a whole chain block by block
// without writing what lies between:
//
//   lowered.Elementwise(inputs…) → y
//
// with the attributes of an Expression (expression.h).
#pragma once

#include "runtime/lowering/region.h"

namespace hr::lowering {

void FuseElementwise(Region& region);

}  // namespace hr::lowering
