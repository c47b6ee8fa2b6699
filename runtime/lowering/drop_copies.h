// Nodes that copy their input as it is.
#pragma once

#include "runtime/lowering/region.h"

namespace hr::lowering {

// Lets the consumers of a Slice of everything, of an Expand (or a SumTo of a gradient) to the shape
// that there is, and of a product by one take its input; and sums and products take operands as
// they are before an Expand, where the other one is as large as the result. Converters write such
// nodes where a program may slice by sizes that it does not know, and gradients begin with ones.
void DropCopies(Region& region);

}  // namespace hr::lowering
