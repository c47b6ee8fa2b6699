// What happens to finished vectors of channels of a convolution. Included once per instruction set,
// after foreach_target.h.
#if defined(HR_CPU_CONV_END_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HR_CPU_CONV_END_INL_H
#undef HR_CPU_CONV_END_INL_H
#else
#define HR_CPU_CONV_END_INL_H
#endif

#include <hwy/highway.h>

#include "backends/cpu/kernels/conv_phases.h"

HWY_BEFORE_NAMESPACE();
namespace hr::cpu::HWY_NAMESPACE {

// An epilogue for the vector of channels at `c`.
template <typename T, class Lanes>
class ConvEnd {
  using D = hwy::HWY_NAMESPACE::ScalableTag<T>;
  using V = hwy::HWY_NAMESPACE::Vec<D>;

 public:
  HWY_INLINE ConvEnd(const ConvEpilogue<T>& e, const Lanes& lanes, int64_t c)
      : lanes_(lanes),
        scales_(e.scale != nullptr),
        adds_(e.bias != nullptr),
        residual_(e.residual == nullptr ? nullptr : e.residual + c),
        scale_(scales_ ? lanes.Load(e.scale + c) : hwy::HWY_NAMESPACE::Zero(D())),
        bias_(adds_ ? lanes.Load(e.bias + c) : hwy::HWY_NAMESPACE::Zero(D())),
        low_(hwy::HWY_NAMESPACE::Set(D(), e.low)),
        high_(hwy::HWY_NAMESPACE::Set(D(), e.high)) {}

  // `pixel`: where the pixel's channels begin, relative to the epilogue's residual.
  HWY_INLINE V Of(V value, int64_t pixel) const {
    namespace hn = hwy::HWY_NAMESPACE;
    if (scales_) value = hn::Mul(value, scale_);
    if (adds_) value = hn::Add(value, bias_);
    if (residual_ != nullptr) value = hn::Add(value, lanes_.Load(residual_ + pixel));
      // A NaN stays.
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR
    return hn::Min(high_, hn::Max(low_, value));  // the second operand if one is NaN
#else
    value = hn::IfThenElse(hn::Lt(value, low_), low_, value);
    return hn::IfThenElse(hn::Gt(value, high_), high_, value);
#endif
  }

 private:
  const Lanes& lanes_;
  const bool scales_, adds_;
  const T* const residual_;
  const V scale_, bias_, low_, high_;
};

}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
