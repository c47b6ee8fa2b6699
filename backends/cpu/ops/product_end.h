// The operands of a product of 8-bit numbers, and what its kernel makes of finished sums.
#pragma once

#include "backends/cpu/kernel_table.h"
#include "backends/cpu/kernels/int8_gemm.h"
#include "runtime/engine/arena_planner.h"

namespace hr::cpu {

// Element `i` of zero points of int8 or uint8.
inline int32_t ZeroAt(const void* zeros, bool is_signed, int64_t i) {
  return is_signed ? static_cast<const int8_t*>(zeros)[i] : static_cast<const uint8_t*>(zeros)[i];
}

// Where a node has its operands: numbers, zero points and scales; kNever for those it never has.
struct ProductPlaces {
  size_t a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero, bias, offset;
};
inline constexpr size_t kNever = SIZE_MAX;
// MatMulInteger and ConvInteger; the QLinear operators; lowered.Quantized… (fuse_quantized.h)
inline constexpr ProductPlaces kIntegerPlaces = {0, kNever, 2,      1,      kNever,
                                                 3, kNever, kNever, kNever, kNever};
inline constexpr ProductPlaces kQuantizedPlaces = {0, 1, 2, 3, 4, 5, 6, 7, 8, kNever};
inline constexpr ProductPlaces kLoweredPlaces = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

// Calls kMake(request, places) of a family.
template <auto kMake, const ProductPlaces& kPlaces>
Result<LoweredKernel> MakeAt(const KernelRequest& request) {
  return kMake(request, kPlaces);
}

// Of a product of m x n sums. In a convolution the rows are filters, so B's parameters and the bias
// belong to rows and A's, one number each, to columns; in a product of matrices it is the other way
// round.
class ProductEnd {
 public:
  ProductEnd(const KernelRequest& request, const ProductPlaces& places, bool conv, int64_t m,
             int64_t n);

  // The kernel's form of the operands, in `scratch`, which has scratch_bytes() and is aligned to 64
  // bytes.
  size_t scratch_bytes() const;
  Int8Epilogue Fill(const engine::Operands& p, void* scratch) const;

  bool a_signed() const { return a_signed_; }
  bool b_signed() const { return b_signed_; }

 private:
  // The elements of an operand; 0: it is omitted.
  struct Counts {
    int64_t a_scale = 0, a_zero = 0, b_scale = 0, b_zero = 0, y_scale = 0, y_zero = 0, bias = 0,
            offset = 0;
  };
  class Filler;

  const ProductPlaces places_;
  const bool conv_;
  const int64_t m_, n_;
  const bool a_signed_, b_signed_;
  const Int8Output output_;
  const float low_, high_;  // of results, before they are quantized
  Counts counts_;
};

}  // namespace hr::cpu
