// Products and convolutions whose operands are both of bfloat16 run on the processor's instructions
// for them, where it has any (kernels/bfloat16_gemm.h):
//
//   lowered.Bfloat16Gemm(a, b, c?) → y   with Gemm's attributes; a and b of any rank that MatMul
//                                        takes
//   lowered.Bfloat16Conv(x, w, bias?, residual?) → y
//   lowered.Bfloat16ConvGradInput(dy, w) → dx
//   lowered.Bfloat16ConvGradWeight(dy, x) → dw   these with Conv's attributes
//
// and "activation" (runtime/lowering/activation.h). c and bias are of float32, c and the residual
// perhaps of bfloat16; results are of float32, or of bfloat16, rounded once: where an Add of a row
// (or of an image, to a convolution) or a Relu follows, behind it.
//
// Convolutions take images as they are, and write them channels-last (the attribute kChannelsLast)
// if what follows can have them so; a residual is always channels-last.
//
// Such nodes were computed in float32, between casts (runtime/lowering/widen.h), and so were those
// of float32 whose operands a graph has cast from bfloat16: both hold the same numbers. One operand
// of bfloat16 beside one of float32 stays a product of float32: nothing is rounded that the graph
// does not round.
#pragma once

#include "runtime/lowering/region.h"

namespace hr::cpu {

inline constexpr size_t kBfloat16Residual = 3;  // the input of Bfloat16Conv

// Convolutions of enough taps and filters; before passes choose other kernels for them.
void UseBfloat16Convolutions(lowering::Region& region);

// After products have been joined with what follows them, and before element-wise chains are.
void UseBfloat16Products(lowering::Region& region);

}  // namespace hr::cpu
