// A Highway vector as the value type of the functors, and the functors for it. Included once per
// instruction set, after foreach_target.h. runtime/ops/functors/functors.h says what each operation
// means.
#if defined(HR_CPU_VECTOR_VALUE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HR_CPU_VECTOR_VALUE_INL_H
#undef HR_CPU_VECTOR_VALUE_INL_H
#else
#define HR_CPU_VECTOR_VALUE_INL_H
#endif

#include <hwy/highway.h>

#include "runtime/ops/functors/libm.h"

HWY_BEFORE_NAMESPACE();
namespace hr::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
using Tag = hn::ScalableTag<T>;
template <typename T>
constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(T));

template <typename T>
struct MaskValue {
  hn::Mask<Tag<T>> mask;
};

template <typename T>
struct VectorValue {
  hn::Vec<Tag<T>> v;
};

// Not friends defined in the class: gcc forgets the instruction set of those.
template <typename T>
MaskValue<T> operator&(MaskValue<T> a, MaskValue<T> b) {
  return {hn::And(a.mask, b.mask)};
}
template <typename T>
MaskValue<T> operator|(MaskValue<T> a, MaskValue<T> b) {
  return {hn::Or(a.mask, b.mask)};
}
template <typename T>
MaskValue<T> operator!(MaskValue<T> a) {
  return {hn::Not(a.mask)};
}
template <typename T>
VectorValue<T> operator-(VectorValue<T> a) {
  return {hn::Neg(a.v)};
}
#define HR_OPERATOR(Result, op, Function)                     \
  template <typename T>                                       \
  Result<T> operator op(VectorValue<T> a, VectorValue<T> b) { \
    return {hn::Function(a.v, b.v)};                          \
  }
HR_OPERATOR(VectorValue, +, Add)
HR_OPERATOR(VectorValue, -, Sub)
HR_OPERATOR(VectorValue, *, Mul)
HR_OPERATOR(VectorValue, /, Div)
HR_OPERATOR(MaskValue, ==, Eq)
HR_OPERATOR(MaskValue, <, Lt)
HR_OPERATOR(MaskValue, <=, Le)
HR_OPERATOR(MaskValue, >, Gt)
HR_OPERATOR(MaskValue, >=, Ge)
#undef HR_OPERATOR

template <typename V>
struct ScalarOfValue;
template <typename T>
struct ScalarOfValue<VectorValue<T>> {
  using type = T;
};
template <typename V>
using ScalarOf = typename ScalarOfValue<V>::type;

template <typename V>
V Splat(double value) {
  using T = ScalarOf<V>;
  return {hn::Set(Tag<T>(), static_cast<T>(value))};
}
template <typename T>
VectorValue<T> Select(MaskValue<T> mask, VectorValue<T> yes, VectorValue<T> no) {
  return {hn::IfThenElse(mask.mask, yes.v, no.v)};
}
template <typename T>
bool Any(MaskValue<T> mask) {
  return !hn::AllFalse(Tag<T>(), mask.mask);
}
template <typename V>
V MulAdd(V a, V b, V c) {
  return {hn::MulAdd(a.v, b.v, c.v)};
}
template <typename V>
V Abs(V x) {
  return {hn::Abs(x.v)};
}
template <typename V>
V Sqrt(V x) {
  return {hn::Sqrt(x.v)};
}
template <typename V>
V Floor(V x) {
  return {hn::Floor(x.v)};
}
template <typename V>
V Ceil(V x) {
  return {hn::Ceil(x.v)};
}
template <typename V>
V RoundEven(V x) {
  return {hn::Round(x.v)};
}
template <typename T>
VectorValue<T> CopySign(VectorValue<T> magnitude, VectorValue<T> sign) {
  return {hn::CopySign(magnitude.v, sign.v)};
}

inline VectorValue<float> PowerOfTwo(VectorValue<float> n) {
  const hn::Rebind<int32_t, Tag<float>> integers;
  const auto exponent = hn::Add(hn::ConvertTo(integers, n.v), hn::Set(integers, 127));
  return {hn::BitCast(Tag<float>(), hn::ShiftLeft<23>(exponent))};
}
inline VectorValue<float> TimesPowerOfTwo(VectorValue<float> x, VectorValue<float> n) {
#if HWY_TARGET <= HWY_AVX3
  return {hn::Vec<Tag<float>>{_mm512_scalef_ps(x.v.raw, n.v.raw)}};
#else  // in two steps, for n reaches beyond the exponents of normal numbers
  const Tag<float> d;
  const VectorValue<float> half{hn::Floor(hn::Mul(n.v, hn::Set(d, 0.5F)))};
  const VectorValue<float> rest{hn::Sub(n.v, half.v)};
  return {hn::Mul(hn::Mul(x.v, PowerOfTwo(half).v), PowerOfTwo(rest).v)};
#endif
}
inline VectorValue<float> Mantissa(VectorValue<float> x, VectorValue<float>* exponent) {
  const Tag<float> d;
  const hn::Rebind<int32_t, Tag<float>> integers;
  const auto bits = hn::BitCast(integers, x.v);
  const auto power = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(integers, 0x3f400000)));
  exponent->v = hn::ConvertTo(d, power);
  return {hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(power)))};
}

template <typename T, typename Function>
VectorValue<T> Map(VectorValue<T> x, Function function) {
  HWY_ALIGN T lanes[HWY_LANES(T)];
  hn::Store(x.v, Tag<T>(), lanes);
  for (T& lane : lanes) lane = function(lane);
  return {hn::Load(Tag<T>(), lanes)};
}
template <typename T, typename Function>
VectorValue<T> Map(VectorValue<T> x, VectorValue<T> y, Function function) {
  HWY_ALIGN T first[HWY_LANES(T)];
  HWY_ALIGN T second[HWY_LANES(T)];
  hn::Store(x.v, Tag<T>(), first);
  hn::Store(y.v, Tag<T>(), second);
  for (size_t i = 0; i < HWY_LANES(T); ++i) first[i] = function(first[i], second[i]);
  return {hn::Load(Tag<T>(), first)};
}

#include "runtime/ops/functors/math.inc"
// after math.inc, which they use
#include "runtime/ops/functors/activation.inc"
#include "runtime/ops/functors/arithmetic.inc"
#include "runtime/ops/functors/optimizer.inc"

}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
