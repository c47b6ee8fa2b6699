// Blocks of a matrix transposed in vectors of 16 bytes. Included once per instruction set, after
// foreach_target.h.
#if defined(HR_CPU_TRANSPOSE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HR_CPU_TRANSPOSE_INL_H
#undef HR_CPU_TRANSPOSE_INL_H
#else
#define HR_CPU_TRANSPOSE_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace hr::cpu::HWY_NAMESPACE {
namespace {

// Transposes a block of kBlock rows: `from` and `to` give the address of each row.
#if HWY_TARGET == HWY_SCALAR
template <typename T>
constexpr int64_t kBlock = 1;

template <typename T>
HWY_INLINE void TransposeBlock(const T* const* from, T* const* to) {
  *to[0] = *from[0];
}
#else
template <typename T>
constexpr int64_t kBlock = 16 / sizeof(T);

HWY_INLINE void TransposeBlock(const float* const* from, float* const* to) {
  const hwy::HWY_NAMESPACE::FixedTag<float, 4> d;
  const hwy::HWY_NAMESPACE::Repartition<double, decltype(d)> d64;
  const auto r0 = hwy::HWY_NAMESPACE::LoadU(d, from[0]), r1 = hwy::HWY_NAMESPACE::LoadU(d, from[1]);
  const auto r2 = hwy::HWY_NAMESPACE::LoadU(d, from[2]), r3 = hwy::HWY_NAMESPACE::LoadU(d, from[3]);
  const auto low01 =
      hwy::HWY_NAMESPACE::BitCast(d64, hwy::HWY_NAMESPACE::InterleaveLower(d, r0, r1));
  const auto high01 =
      hwy::HWY_NAMESPACE::BitCast(d64, hwy::HWY_NAMESPACE::InterleaveUpper(d, r0, r1));
  const auto low23 =
      hwy::HWY_NAMESPACE::BitCast(d64, hwy::HWY_NAMESPACE::InterleaveLower(d, r2, r3));
  const auto high23 =
      hwy::HWY_NAMESPACE::BitCast(d64, hwy::HWY_NAMESPACE::InterleaveUpper(d, r2, r3));
  hwy::HWY_NAMESPACE::StoreU(
      hwy::HWY_NAMESPACE::BitCast(d, hwy::HWY_NAMESPACE::InterleaveLower(d64, low01, low23)), d,
      to[0]);
  hwy::HWY_NAMESPACE::StoreU(
      hwy::HWY_NAMESPACE::BitCast(d, hwy::HWY_NAMESPACE::InterleaveUpper(d64, low01, low23)), d,
      to[1]);
  hwy::HWY_NAMESPACE::StoreU(
      hwy::HWY_NAMESPACE::BitCast(d, hwy::HWY_NAMESPACE::InterleaveLower(d64, high01, high23)), d,
      to[2]);
  hwy::HWY_NAMESPACE::StoreU(
      hwy::HWY_NAMESPACE::BitCast(d, hwy::HWY_NAMESPACE::InterleaveUpper(d64, high01, high23)), d,
      to[3]);
}

HWY_INLINE void TransposeBlock(const double* const* from, double* const* to) {
  const hwy::HWY_NAMESPACE::FixedTag<double, 2> d;
  const auto r0 = hwy::HWY_NAMESPACE::LoadU(d, from[0]), r1 = hwy::HWY_NAMESPACE::LoadU(d, from[1]);
  hwy::HWY_NAMESPACE::StoreU(hwy::HWY_NAMESPACE::InterleaveLower(d, r0, r1), d, to[0]);
  hwy::HWY_NAMESPACE::StoreU(hwy::HWY_NAMESPACE::InterleaveUpper(d, r0, r1), d, to[1]);
}
#endif

}  // namespace
}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
