// Joins matrix products with the bias and the activation behind them:
//
//   lowered.Gemm(a, b, c?) → y
//
// with Gemm's attributes and "activation" (activation.h).
#pragma once

#include "runtime/lowering/region.h"

namespace hr::lowering {

void FuseMatrixProducts(Region& region);

// Joins such products with the Gelu of their results. Behind passes that rewrite Gemm for operands
// of other types.
void JoinGelus(Region& region);

// Whether a value is added to each row of `whole` alike: a decision (Region::Decide).
bool IsRowOf(Region& region, graph::ValueId value, graph::ValueId whole);

}  // namespace hr::lowering
