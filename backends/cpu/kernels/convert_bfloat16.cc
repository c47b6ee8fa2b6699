#include "backends/cpu/kernels/convert_bfloat16.h"

#include "runtime/base/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/convert_bfloat16.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace hr::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void WidenBfloat16(const void* from, void* to, int64_t count) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> bits;
  const hn::Rebind<uint16_t, decltype(d)> narrow;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto* const x = static_cast<const uint16_t*>(from);
  auto* const y = static_cast<float*>(to);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto wide = hn::ShiftLeft<16>(hn::PromoteTo(bits, hn::LoadU(narrow, x + i)));
    hn::StoreU(hn::BitCast(d, wide), d, y + i);
  }
  for (; i < count; ++i) y[i] = Bfloat16ToFloat(x[i]);
}

void NarrowBfloat16(const void* from, void* to, int64_t count) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> bits;
  const hn::Rebind<uint16_t, decltype(d)> narrow;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto half = hn::Set(bits, 0x7fff), one = hn::Set(bits, 1), quiet = hn::Set(bits, 0x40);
  const auto* const x = static_cast<const float*>(from);
  auto* const y = static_cast<uint16_t*>(to);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    const auto wide = hn::BitCast(bits, v), high = hn::ShiftRight<16>(wide);
    const auto even = hn::And(high, one);
    const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(wide, half), even));
    const auto nan = hn::RebindMask(bits, hn::IsNaN(v));
    const auto result = hn::IfThenElse(nan, hn::Or(high, quiet), rounded);
    hn::StoreU(hn::TruncateTo(narrow, result), narrow, y + i);
  }
  for (; i < count; ++i) y[i] = FloatToBfloat16(x[i]);
}

ConvertLoop WidenLoopOfBfloat16() { return WidenBfloat16; }
ConvertLoop NarrowLoopOfBfloat16() { return NarrowBfloat16; }

}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hr::cpu {

HWY_EXPORT(WidenLoopOfBfloat16);
HWY_EXPORT(NarrowLoopOfBfloat16);

ConvertLoop Bfloat16ToFloats() { return HWY_DYNAMIC_DISPATCH(WidenLoopOfBfloat16)(); }
ConvertLoop FloatsToBfloat16() { return HWY_DYNAMIC_DISPATCH(NarrowLoopOfBfloat16)(); }

}  // namespace hr::cpu
#endif
