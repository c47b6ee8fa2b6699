// Nodes that copy their input as it is.
#pragma once

#include "runtime/lowering/region.h"

namespace hr::lowering {

// Lets the consumers of a Slice of everything, or of an Expand to the shape that there is, take its
// input. Converters write such nodes where a program may slice by sizes that it does not know.
void DropCopies(Region& region);

}  // namespace hr::lowering
