#include "backends/cpu/kernels/normalization_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/normalization_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

#include "backends/cpu/kernels/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hr::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
// Of this file: another may use the same names.
namespace {

template <typename T>
using Tag = hn::ScalableTag<T>;
template <typename T>
using Vector = hn::Vec<Tag<T>>;
template <typename T>
HWY_INLINE T Total(Vector<T> v) {
  return hn::GetLane(hn::SumOfLanes(Tag<T>(), v));
}

template <typename T>
HWY_INLINE Vector<T> Set(T value) {
  return hn::Set(Tag<T>(), value);
}

template <typename T>
T Sum(const T* x, int64_t n) {
  auto sum = hn::Zero(Tag<T>());
  ForVectors<Tag<T>>(
      n, [&](int64_t i, const auto& lanes) HWY_ATTR { sum = hn::Add(sum, lanes.Load(x + i)); });
  return Total<T>(sum);
}

template <typename T>
T Squares(const T* x, int64_t n, T mean) {
  auto sum = hn::Zero(Tag<T>());
  ForVectors<Tag<T>>(n, [&](int64_t i, const auto& lanes) HWY_ATTR {
    const auto away = lanes.Keep(hn::Sub(lanes.Load(x + i), Set(mean)), hn::Zero(Tag<T>()));
    sum = hn::MulAdd(away, away, sum);
  });
  return Total<T>(sum);
}

template <typename T>
void NormalizeEach(const T* x, int64_t n, T mean, T inverse, const T* scale, const T* bias, T* y) {
  ForVectors<Tag<T>>(n, [&](int64_t i, const auto& lanes) HWY_ATTR {
    const auto xhat = hn::Mul(hn::Sub(lanes.Load(x + i), Set(mean)), Set(inverse));
    const auto end = bias == nullptr ? hn::Zero(Tag<T>()) : lanes.Load(bias + i);
    lanes.Store(hn::MulAdd(xhat, lanes.Load(scale + i), end), y + i);
  });
}

template <typename T, typename Lanes>
HWY_INLINE Vector<T> Scaled(const Lanes& lanes, const T* dy, const T* scale, int64_t i) {
  const auto d = lanes.Load(dy + i);
  return scale == nullptr ? d : hn::Mul(d, lanes.Load(scale + i));
}

template <typename T>
void Dots(const T* dy, const T* scale, const T* x, int64_t n, T mean, T inverse, T sums[2]) {
  auto sum = hn::Zero(Tag<T>()), product = sum;
  ForVectors<Tag<T>>(n, [&](int64_t i, const auto& lanes) HWY_ATTR {
    const auto d = Scaled<T>(lanes, dy, scale, i);  // 0 beyond the end
    sum = hn::Add(sum, d);
    product = hn::MulAdd(d, hn::Sub(lanes.Load(x + i), Set(mean)), product);
  });
  sums[0] = Total<T>(sum);
  sums[1] = Total<T>(product) * inverse;
}

template <typename T>
void InputGradient(const T* dy, const T* scale, const T* x, int64_t n, T a, T b, T mean, T c,
                   T* dx) {
  ForVectors<Tag<T>>(n, [&](int64_t i, const auto& lanes) HWY_ATTR {
    const auto away = hn::Sub(lanes.Load(x + i), Set(mean));
    const auto rest = hn::Sub(Scaled<T>(lanes, dy, scale, i), Set(b));
    lanes.Store(hn::Mul(Set(a), hn::NegMulAdd(away, Set(c), rest)), dx + i);
  });
}

template <typename T>
void Combine(const T* dy, const T* x, int64_t n, T a, T b, T mean, T c, T* dx) {
  ForVectors<Tag<T>>(n, [&](int64_t i, const auto& lanes) HWY_ATTR {
    const auto away = hn::Sub(lanes.Load(x + i), Set(mean));
    const auto rest = hn::MulSub(Set(a), lanes.Load(dy + i), Set(b));
    lanes.Store(hn::NegMulAdd(away, Set(c), rest), dx + i);
  });
}

template <typename T>
void Accumulate(const T* dy, const T* x, int64_t n, T mean, T inverse, T* sum) {
  ForVectors<Tag<T>>(n, [&](int64_t i, const auto& lanes) HWY_ATTR {
    const auto xhat = hn::Mul(hn::Sub(lanes.Load(x + i), Set(mean)), Set(inverse));
    lanes.Store(hn::MulAdd(lanes.Load(dy + i), xhat, lanes.Load(sum + i)), sum + i);
  });
}

template <typename T>
constexpr NormKernels<T> MakeTable() {
  return {.sum = &Sum<T>,
          .squares = &Squares<T>,
          .normalize_each = &NormalizeEach<T>,
          .dots = &Dots<T>,
          .gradient = &InputGradient<T>,
          .combine = &Combine<T>,
          .accumulate = &Accumulate<T>};
}

}  // namespace

const NormKernels<float>& FloatNorms() {
  static constexpr NormKernels<float> kTable = MakeTable<float>();
  return kTable;
}

const NormKernels<double>& DoubleNorms() {
  static constexpr NormKernels<double> kTable = MakeTable<double>();
  return kTable;
}

}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hr::cpu {
HWY_EXPORT(FloatNorms);
HWY_EXPORT(DoubleNorms);

template <>
const NormKernels<float>& KernelsForNormalization() {
  return HWY_DYNAMIC_DISPATCH(FloatNorms)();
}

template <>
const NormKernels<double>& KernelsForNormalization() {
  return HWY_DYNAMIC_DISPATCH(DoubleNorms)();
}

}  // namespace hr::cpu
#endif
