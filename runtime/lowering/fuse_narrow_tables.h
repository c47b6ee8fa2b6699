// Takes rows of a table first and widens these, where a graph widens the whole table before:
//
//   Gather of rows of a DequantizeLinear (int8, uint8), or of a Cast of 16 bits, to float32
//
// becomes
//
//   lowered.GatherWidened(table, indices, scale?, zero?) → y
//
// with one scale in all or one for each row. Every bit stays as it is.
#pragma once

#include "runtime/lowering/region.h"

namespace hr::lowering {

void FuseNarrowTables(Region& region);

}  // namespace hr::lowering
