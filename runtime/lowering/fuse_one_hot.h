// Turns the product of one-hot rows and a matrix of constants into a choice of its rows:
//
//   lowered.OneHotProduct(index, matrix) → y
//
// y[i] = matrix[index[i]], or 0 if the matrix has no row of that number. Converters write
// embeddings so: MatMul(Cast(Equal(index, [0, 1, …])), matrix).
#pragma once

#include "runtime/lowering/region.h"

namespace hr::lowering {

void FuseOneHotProducts(Region& region);

}  // namespace hr::lowering
