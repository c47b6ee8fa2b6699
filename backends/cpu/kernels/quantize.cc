#include "backends/cpu/kernels/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/quantize.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace hr::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using D32 = hn::ScalableTag<int32_t>;
constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float));

// Calls visit(i) for each vector of n numbers, then one(i) for each number of the rest.
template <typename Visit, typename One>
HWY_INLINE void ForRun(int64_t n, const Visit& visit, const One& one) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) visit(i);
  for (; i < n; ++i) one(i);
}

template <typename T>
void QuantizeAs(const float* x, int64_t n, float scale, float zero, T* y) {
  constexpr float kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  const hn::Rebind<T, D32> narrow;
  const V scales = hn::Set(D(), scale), zeros = hn::Set(D(), zero);
  const V low = hn::Set(D(), kLow), high = hn::Set(D(), kHigh);
  ForRun(
      n,
      [&](int64_t i) HWY_ATTR {
        V v = hn::Round(hn::Div(hn::LoadU(D(), x + i), scales));
        v = hn::Min(hn::Max(hn::Add(v, zeros), low), high);
        hn::StoreU(hn::DemoteTo(narrow, hn::ConvertTo(D32(), v)), narrow, y + i);
      },
      [&](int64_t i) {
        const float v = std::nearbyint(x[i] / scale) + zero;
        y[i] = static_cast<T>(v > kLow ? std::min(v, kHigh) : kLow);
      });
}

void QuantizeLoop(const float* x, int64_t n, float scale, float zero, bool is_signed, void* y) {
  if (is_signed) return QuantizeAs(x, n, scale, zero, static_cast<int8_t*>(y));
  QuantizeAs(x, n, scale, zero, static_cast<uint8_t*>(y));
}

template <typename T>
void DequantizeFrom(const T* x, int64_t n, float scale, float zero, float* y) {
  const hn::Rebind<T, D32> narrow;
  const V scales = hn::Set(D(), scale), zeros = hn::Set(D(), zero);
  ForRun(
      n,
      [&](int64_t i) HWY_ATTR {
        const V v = hn::ConvertTo(D(), hn::PromoteTo(D32(), hn::LoadU(narrow, x + i)));
        hn::StoreU(hn::Mul(hn::Sub(v, zeros), scales), D(), y + i);
      },
      [&](int64_t i) { y[i] = (static_cast<float>(x[i]) - zero) * scale; });
}

void DequantizeLoop(const void* x, bool is_signed, int64_t n, float scale, float zero, float* y) {
  if (is_signed) return DequantizeFrom(static_cast<const int8_t*>(x), n, scale, zero, y);
  DequantizeFrom(static_cast<const uint8_t*>(x), n, scale, zero, y);
}

FloatRange RangeLoop(const float* x, int64_t n) {
  constexpr int kUnroll = 4;
  V least[kUnroll], most[kUnroll], sum[kUnroll];
  for (int u = 0; u < kUnroll; ++u) least[u] = most[u] = sum[u] = hn::Zero(D());
  int64_t i = 0;
  for (; i + kUnroll * kLanes <= n; i += kUnroll * kLanes) {
    for (int u = 0; u < kUnroll; ++u) {
      const V v = hn::LoadU(D(), x + i + u * kLanes);
      least[u] = hn::Min(least[u], v);
      most[u] = hn::Max(most[u], v);
      // NaN for NaN, which minima may lose, and else a zero.
      sum[u] = hn::Add(sum[u], hn::IfThenElseZero(hn::IsNaN(v), v));
    }
  }
  for (int u = 1; u < kUnroll; ++u) {
    least[0] = hn::Min(least[0], least[u]);
    most[0] = hn::Max(most[0], most[u]);
    sum[0] = hn::Add(sum[0], sum[u]);
  }
  FloatRange range{hn::GetLane(hn::MinOfLanes(D(), least[0])),
                   hn::GetLane(hn::MaxOfLanes(D(), most[0]))};
  float nan = hn::GetLane(hn::SumOfLanes(D(), sum[0]));
  for (; i < n; ++i) {
    range = {std::min(range.least, x[i]), std::max(range.most, x[i])};
    if (std::isnan(x[i])) nan = x[i];
  }
  return std::isnan(nan) ? FloatRange{nan, nan} : range;
}

}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hr::cpu {

HWY_EXPORT(QuantizeLoop);
HWY_EXPORT(DequantizeLoop);
HWY_EXPORT(RangeLoop);

void QuantizeRun(const float* x, int64_t n, float scale, float zero, bool is_signed, void* y) {
  HWY_DYNAMIC_DISPATCH(QuantizeLoop)(x, n, scale, zero, is_signed, y);
}
void DequantizeRun(const void* x, bool is_signed, int64_t n, float scale, float zero, float* y) {
  HWY_DYNAMIC_DISPATCH(DequantizeLoop)(x, is_signed, n, scale, zero, y);
}
FloatRange RangeOf(const float* x, int64_t n) { return HWY_DYNAMIC_DISPATCH(RangeLoop)(x, n); }

FloatRange Joined(const FloatRange& a, const FloatRange& b) {
  if (std::isnan(a.least)) return a;
  if (std::isnan(b.least)) return b;
  return {std::min(a.least, b.least), std::max(a.most, b.most)};
}

DynamicScale DynamicScaleOf(const FloatRange& range) {
  const float width = (range.most - range.least) / 255;
  // Zeros alone have no range; any scale holds them.
  const float scale = width == 0 ? 1 : width;
  const float point = std::clamp(-(range.least / scale), 0.0f, 255.0f);
  return {scale, static_cast<uint8_t>(point >= 0 ? std::nearbyint(point) : 0)};
}

}  // namespace hr::cpu
#endif
