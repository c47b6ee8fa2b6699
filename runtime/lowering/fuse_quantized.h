// Chains around products of 8-bit numbers.
#pragma once

#include "runtime/lowering/region.h"

namespace hr::lowering {

// Turns these chains, in which all in [ ] may be missing, into one node each:
//
//   MatMulInteger or ConvInteger → Cast to float32 → Mul by a scale [→ Add a bias] [→ bound]
//   MatMul, Gemm or Conv of two DequantizeLinear [→ Add a bias] [→ bound] [→ QuantizeLinear]
//
// where a bound is a Relu or a Clip with known bounds. They become
//
//   lowered.QuantizedMatMul (a, a_scale?, a_zero?, b, b_scale?, b_zero?, y_scale?, y_zero?, none,
//                            offset?) {low, high, transB}
//   lowered.QuantizedConv   the same, with Conv's attributes
//
// y has 8 bits if there is a y_scale, and is float32 otherwise. The sums of products are exact, in
// int32. Of the first chain every bit is the one that the nodes give. The second differs from the
// nodes by what these round while they sum in float32 (and dequantize): a quantized result by one
// at most, unless that rounding exceeds one step of its scale.
//
// A MatMul or Gemm of numbers in float32 by constant weights behind a DequantizeLinear, or behind a
// Cast of 16 bits, becomes
//
//   lowered.DequantizedGemm (a, b, b_scale?, b_zero?, bias?) {transB, activation}
//
// whose weights are widened once, when they are packed.
void FuseQuantized(Region& region);

}  // namespace hr::lowering
