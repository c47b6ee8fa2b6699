// Joins matrix products with the bias and the activation behind them:
//
//   lowered.Gemm(a, b, c?) → y
//
// with Gemm's attributes and "activation" (activation.h).
#pragma once

#include "runtime/lowering/region.h"

namespace hr::lowering {

void FuseMatrixProducts(Region& region);

}  // namespace hr::lowering
