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
struct PartialVector {
  using T = hwy::HWY_NAMESPACE::TFromD<D>;
  using V = hwy::HWY_NAMESPACE::Vec<D>;

  explicit PartialVector(int64_t count) : count(static_cast<size_t>(count)), mask(MaskOf(count)) {}

  static auto MaskOf(int64_t count) {
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
  decltype(MaskOf(0)) mask;
};

// The same for a whole vector. Keep takes the lanes that there are from one value, the others from
// another.
template <class D>
struct WholeLanes {
  using T = hwy::HWY_NAMESPACE::TFromD<D>;
  using V = hwy::HWY_NAMESPACE::Vec<D>;
  V Load(const T* from) const { return hwy::HWY_NAMESPACE::LoadU(D(), from); }
  void Store(V value, T* to) const { hwy::HWY_NAMESPACE::StoreU(value, D(), to); }
  static V Keep(V value, V) { return value; }
};
template <class D>
struct FirstLanes : PartialVector<D> {
  using typename PartialVector<D>::V;
  using PartialVector<D>::PartialVector;
  V Keep(V value, V otherwise) const {
    return hwy::HWY_NAMESPACE::IfThenElse(this->mask, value, otherwise);
  }
};

// Calls visit(offset, lanes) for each vector of n elements.
template <class D, typename Visit>
HWY_INLINE void ForVectors(int64_t n, const Visit& visit) {
  constexpr auto kLanes = static_cast<int64_t>(hwy::HWY_NAMESPACE::MaxLanes(D()));
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) visit(i, WholeLanes<D>());
  if (i < n) visit(i, FirstLanes<D>(n - i));
}

}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
