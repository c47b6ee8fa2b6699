// float and double as the values of functors; functors.h says what the operations mean.
#pragma once

#include "runtime/ops/functors/libm.h"

namespace hr::functors {

template <typename V>
struct ScalarOfValue {
  using type = V;
};
template <typename V>
using ScalarOf = typename ScalarOfValue<V>::type;

template <typename To, typename From>
HR_FUNCTOR To Bits(From from) {
  return __builtin_bit_cast(To, from);
}

template <typename V>
HR_FUNCTOR V Splat(double value) {
  return static_cast<V>(value);
}
template <typename V>
HR_FUNCTOR V Select(bool mask, V yes, V no) {
  return mask ? yes : no;
}
HR_FUNCTOR bool Any(bool mask) { return mask; }
template <typename V>
HR_FUNCTOR V MulAdd(V a, V b, V c) {
  return libm::fma(a, b, c);
}
template <typename V>
HR_FUNCTOR V Abs(V x) {
  return libm::fabs(x);
}
template <typename V>
HR_FUNCTOR V Sqrt(V x) {
  return libm::sqrt(x);
}
template <typename V>
HR_FUNCTOR V Floor(V x) {
  return libm::floor(x);
}
template <typename V>
HR_FUNCTOR V Ceil(V x) {
  return libm::ceil(x);
}
template <typename V>
HR_FUNCTOR V RoundEven(V x) {
  return libm::nearbyint(x);
}
template <typename V>
HR_FUNCTOR V CopySign(V magnitude, V sign) {
  return libm::copysign(magnitude, sign);
}
// Converting what is no number, or out of range, is undefined in C++; its result is not used.
HR_FUNCTOR float PowerOfTwo(float n) {
  const int32_t exponent = n > -127 && n < 128 ? static_cast<int32_t>(n) : 0;
  return Bits<float>((exponent + 127) << 23);
}
// In two steps, for n reaches beyond the exponents of normal numbers.
HR_FUNCTOR float TimesPowerOfTwo(float x, float n) {
  const float half = Floor(n * 0.5f);
  return x * PowerOfTwo(half) * PowerOfTwo(n - half);
}
HR_FUNCTOR float Mantissa(float x, float* exponent) {
  const int32_t bits = Bits<int32_t>(x);
  const int32_t power = (bits - 0x3f400000) >> 23;  // 0x3f400000 is 0.75
  *exponent = static_cast<float>(power);
  return Bits<float>(
      static_cast<int32_t>(static_cast<uint32_t>(bits) - (static_cast<uint32_t>(power) << 23)));
}
template <typename V, typename Function>
HR_FUNCTOR V Map(V x, Function function) {
  return function(x);
}
template <typename V, typename Function>
HR_FUNCTOR V Map(V x, V y, Function function) {
  return function(x, y);
}

}  // namespace hr::functors
