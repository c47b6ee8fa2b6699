// Element-wise reductions on this rank's CPU. bfloat16 and float16 are computed in float and
// rounded to nearest even. Integers wrap around. Min and max give a NaN if either side is one.
#pragma once

#include <cstddef>

#include "runtime/comm/operation.h"

namespace hr::comm {

// out[i] = a[i] op b[i]; `out` may be `a` or `b`. kAverage and kPreMultipliedSum add. The operands'
// order matters to the bits (NaN payloads), so ranks that must agree pass the same order.
void Combine(DType dtype, ReduceOp op, const void* a, const void* b, void* out, size_t count);
// out[i] = a[i] * factor.
void Multiply(DType dtype, const void* a, double factor, void* out, size_t count);
// out[i] = a[i] / divisor; integers round towards zero.
void Divide(DType dtype, const void* a, int divisor, void* out, size_t count);
// As Multiply of `a`, Combine with `b`, Divide and a copy, in one pass over memory. `out` may be
// `a` or `b`, and `copy` may be `a`.
struct FusedCombine {
  bool multiply = false;  // a, by
  double factor = 1;
  int divisor = 0;       // 0: nothing is divided
  void* copy = nullptr;  // null: there is none
};
void Combine(DType dtype, ReduceOp op, const void* a, const void* b, void* out, size_t count,
             const FusedCombine& fused);

}  // namespace hr::comm
