// Element-wise functions of scalars: what CPU and GPU share, compiled for float and double.
//
// The .inc files beside this one hold the bodies, as templates over a value type V that is a scalar
// here and a vector in the CPU backend. They are included inside a namespace, once for each
// instruction set, after libm.h, and after the operations below were defined there for its values:
//   operators + - * / unary -, comparisons that give a mask, and & | ! on masks
//   Splat<V>(double)        every element the same
//   Select(mask, a, b)      a where the mask is true
//   MulAdd(a, b, c)         a * b + c
//   Abs, Sqrt, Floor, Ceil, RoundEven, CopySign(magnitude, sign)
//   PowerOfTwo(n)           2^n for whole n in [-126, 127]
//   TimesPowerOfTwo(x, n)   x * 2^n for whole n in [-252, 254], rounded once
//   Mantissa(x, &exponent)  x = mantissa * 2^exponent for normal x > 0, mantissa in [0.75, 1.5)
//   Any(mask)               whether any element is true
//   Map(v, f)               f of each element
//   ScalarOf<V>             the type of an element
#pragma once

#include "runtime/ops/functors/scalar_value.h"

namespace hr::functors {
#include "runtime/ops/functors/math.inc"
// after math.inc, which they use
#include "runtime/ops/functors/activation.inc"
#include "runtime/ops/functors/arithmetic.inc"
#include "runtime/ops/functors/optimizer.inc"
}  // namespace hr::functors
