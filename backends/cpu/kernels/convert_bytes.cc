#include "backends/cpu/kernels/convert_bytes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/convert_bytes.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace hr::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
void Widen(const void* from, void* to, int64_t count) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<T, decltype(d)> narrow;
  const hn::Rebind<int32_t, decltype(d)> integers;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const T* x = static_cast<const T*>(from);
  float* y = static_cast<float*>(to);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::ConvertTo(d, hn::PromoteTo(integers, hn::LoadU(narrow, x + i))), d, y + i);
  }
  for (; i < count; ++i) y[i] = x[i];
}

template <typename T>
void Narrow(const void* from, void* to, int64_t count) {
  constexpr float kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  const hn::ScalableTag<float> d;
  const hn::Rebind<T, decltype(d)> narrow;
  const hn::Rebind<int32_t, decltype(d)> integers;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto low = hn::Set(d, kLow), high = hn::Set(d, kHigh);
  const float* x = static_cast<const float*>(from);
  T* y = static_cast<T*>(to);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    const auto number = hn::IfThenZeroElse(hn::IsNaN(v), hn::Min(hn::Max(v, low), high));
    hn::StoreU(hn::DemoteTo(narrow, hn::ConvertTo(integers, number)), narrow, y + i);
  }
  for (; i < count; ++i) {
    y[i] = static_cast<T>(std::isnan(x[i]) ? 0 : std::clamp(x[i], kLow, kHigh));
  }
}

ConvertLoop WidenLoop(bool is_signed) { return is_signed ? Widen<int8_t> : Widen<uint8_t>; }
ConvertLoop NarrowLoop(bool is_signed) { return is_signed ? Narrow<int8_t> : Narrow<uint8_t>; }

}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hr::cpu {

HWY_EXPORT(WidenLoop);
HWY_EXPORT(NarrowLoop);

ConvertLoop BytesToFloats(bool is_signed) { return HWY_DYNAMIC_DISPATCH(WidenLoop)(is_signed); }
ConvertLoop FloatsToBytes(bool is_signed) { return HWY_DYNAMIC_DISPATCH(NarrowLoop)(is_signed); }

}  // namespace hr::cpu
#endif
