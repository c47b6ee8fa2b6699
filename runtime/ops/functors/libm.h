// The functions of <math.h> for float and double, without the header.
#pragma once

#include "runtime/ops/functors/define.h"

// nvcc and NVRTC know the functions without any header, for device code, too; they know no builtins
// for them.
#if defined(__CUDACC__)
#define HR_LIBM(function) ::function
#else
#define HR_LIBM(function) __builtin_##function
#endif

namespace hr::libm {

inline constexpr double kInfinity = __builtin_bit_cast(double, 0x7ff0'0000'0000'0000);
inline constexpr double kNaN = __builtin_bit_cast(double, 0x7ff8'0000'0000'0000);

#define HR_UNARY(function)                                               \
  HR_FUNCTOR float function(float x) { return HR_LIBM(function##f)(x); } \
  HR_FUNCTOR double function(double x) { return HR_LIBM(function)(x); }
#define HR_BINARY(function)                                                          \
  HR_FUNCTOR float function(float x, float y) { return HR_LIBM(function##f)(x, y); } \
  HR_FUNCTOR double function(double x, double y) { return HR_LIBM(function)(x, y); }
HR_UNARY(acos)
HR_UNARY(acosh)
HR_UNARY(asin)
HR_UNARY(asinh)
HR_UNARY(atan)
HR_UNARY(atanh)
HR_UNARY(ceil)
HR_UNARY(cos)
HR_UNARY(cosh)
HR_UNARY(erf)
HR_UNARY(exp)
HR_UNARY(expm1)
HR_UNARY(fabs)
HR_UNARY(floor)
HR_UNARY(log)
HR_UNARY(log1p)
HR_UNARY(nearbyint)
HR_UNARY(sin)
HR_UNARY(sinh)
HR_UNARY(sqrt)
HR_UNARY(tan)
HR_UNARY(tanh)
HR_BINARY(copysign)
HR_BINARY(fmod)
HR_BINARY(pow)
#undef HR_UNARY
#undef HR_BINARY

HR_FUNCTOR float fma(float x, float y, float z) { return HR_LIBM(fmaf)(x, y, z); }
HR_FUNCTOR double fma(double x, double y, double z) { return HR_LIBM(fma)(x, y, z); }

}  // namespace hr::libm
#undef HR_LIBM
