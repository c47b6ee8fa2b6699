// Products of matrices of bfloat16, row-major, with the processor's own instructions for them:
//
//   C(i, j) = activation(alpha * sum over l of op(A)(i, l) * op(B)(l, j) + beta * bias(i, j)
//                       + residual(i, j))
//
// A product of two numbers of bfloat16 is exact in float32. Sums are kept in float32, each addition
// rounded to nearest even, and C is rounded once, at the end, if it is of bfloat16. So the error is
// that of a product of float32 whose operands had few bits, and smaller than what rounding the
// operands to bfloat16 has cost.
//
// One thing differs from float32: the instructions (VDPBF16PS, TDPBF16PS, VCVTNEPS2BF16) take
// operands below 2^-126 as zeros and make zeros of such sums. What is lost of C(i, j) is less than
// 2^-126 times the sum of the magnitudes that such operands are multiplied by, plus 2^-126 for each
// addition: far less than rounding costs, unless operands of more than 2^100 are in play.
// Infinities and NaNs go their usual way.
//
// The order of the additions depends on the processor, on the shape and on `slices`, never on how
// many threads the lease has. Nothing is allocated; different calls may run at one time if they do
// not share scratch or C. Numbers are given as their bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/gemm.h"

namespace hr::cpu {

// What this processor multiplies bfloat16 with (bfloat16_kernels.h); null if float32 is as good.
// For those who make kernels: asking takes time.
struct Bfloat16Kernels;
const Bfloat16Kernels* KernelsForBfloat16();

struct Bfloat16Epilogue {
  float alpha = 1, beta = 1;
  const float* bias = nullptr;            // at bias[i * bias_row + j * bias_column]; null: none
  int64_t bias_row = 0, bias_column = 0;  // bias_column is 0 or 1
  const void* residual = nullptr;         // [m][ldr], added before the activation; null: none
  int64_t ldr = 0;
  bool narrow_residual = false;  // it is of bfloat16, else of float32
  Activation activation = Activation::kNone;
  bool narrow = false;  // C is of bfloat16, else of float32
};

// B in the order in which the kernels read it: for memory, not for files. `packed` is aligned to a
// cache line.
size_t PackedBfloat16Bytes(int64_t n, int64_t k);
void PackBfloat16(const Bfloat16Kernels& kernels, const Lease& threads, const GemmShape& shape,
                  const uint16_t* b, uint16_t* packed, int slices);

// `shape.transpose_b` and `shape.ldb` are not looked at. The scratch is aligned to a cache line.
size_t Bfloat16ScratchBytes(const GemmShape& shape);
void Bfloat16Gemm(const Bfloat16Kernels& kernels, const Lease& threads, const GemmShape& shape,
                  const uint16_t* a, const uint16_t* packed, void* c,
                  const Bfloat16Epilogue& epilogue, int slices, void* scratch);

}  // namespace hr::cpu
