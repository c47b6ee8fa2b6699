// Matrix products that read their operands, and write their result, as Transpose nodes around them
// would have them, so that nothing is transposed by itself.
#pragma once

#include "runtime/lowering/region.h"

namespace hr::lowering {

// Makes of MatMul or Gemm of matrices (A of MatMul may have further axes)
//
//   lowered.Gemm (a, b, c?) → y
//
// with Gemm's attributes: transposed operands become "transA" and "transB", and the transpose of a
// product without bias is the product of the transposed operands in the other order.
void TurnMatrixProducts(Region& region);

// Makes of other MatMuls
//
//   lowered.MatMul (a, b) → y   {a_axes, b_axes, y_axes}
//
// where axis i of an operand is axis axes[i] of its memory. The last axis of each memory is one of
// the last two of the operand.
void TurnBatchedProducts(Region& region);

}  // namespace hr::lowering
