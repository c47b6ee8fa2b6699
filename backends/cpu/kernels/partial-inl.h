// Loads and stores of the first lanes of a vector that touch no memory beyond them. Included once
// per instruction set, after foreach_target.h.
#if defined(HR_CPU_PARTIAL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HR_CPU_PARTIAL_INL_H
#undef HR_CPU_PARTIAL_INL_H
#else
#define HR_CPU_PARTIAL_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace hr::cpu::HWY_NAMESPACE {

// The first `count` lanes of a vector, 1 <= count <= lanes. Built once before a loop.
template <class D>
struct Part {
  using T = hwy::HWY_NAMESPACE::TFromD<D>;
  using V = hwy::HWY_NAMESPACE::Vec<D>;

  explicit Part(int64_t count) : count(static_cast<size_t>(count)), mask(First(count)) {}

  static auto First(int64_t count) {
    return hwy::HWY_NAMESPACE::FirstN(D(), static_cast<size_t>(count));
  }

  // Lanes beyond the part are 0.
  V Load(const T* from) const {
#if HWY_MEM_OPS_MIGHT_FAULT
    HWY_ALIGN T lanes[HWY_LANES(T)] = {};
    for (size_t i = 0; i < count; ++i) lanes[i] = from[i];
    return hwy::HWY_NAMESPACE::Load(D(), lanes);
#else
    return hwy::HWY_NAMESPACE::MaskedLoad(mask, D(), from);
#endif
  }

  void Store(V value, T* to) const {
#if HWY_MEM_OPS_MIGHT_FAULT
    HWY_ALIGN T lanes[HWY_LANES(T)];
    hwy::HWY_NAMESPACE::Store(value, D(), lanes);
    for (size_t i = 0; i < count; ++i) to[i] = lanes[i];
#else
    hwy::HWY_NAMESPACE::BlendedStore(value, mask, D(), to);
#endif
  }

  size_t count;
  decltype(First(0)) mask;
};

}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
