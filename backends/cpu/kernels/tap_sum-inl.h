// Sums and maxima of the taps of a window. Included once per instruction set, after
// foreach_target.h.
#if defined(HR_CPU_TAP_SUM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HR_CPU_TAP_SUM_INL_H
#undef HR_CPU_TAP_SUM_INL_H
#else
#define HR_CPU_TAP_SUM_INL_H
#endif

#include <algorithm>
#include <cstdint>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace hr::cpu::HWY_NAMESPACE {

constexpr int64_t kTapsOfPart = 32;
constexpr int kLevelsOfParts = 3;

// Where a value takes the place of the largest one so far: a NaN always does, and stays, as in
// PyTorch's pools.
template <class V>
HWY_INLINE auto IsNewMaximum(V value, V best) {
  namespace hn = hwy::HWY_NAMESPACE;
  return hn::Or(hn::Gt(value, best), hn::IsNaN(value));
}

// The sum of load(row, column) over a window, one after the other.
template <class D, typename Load>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> SumOfPart(D d, int64_t rows, int64_t columns,
                                                const Load& load) {
  auto sum = hwy::HWY_NAMESPACE::Zero(d);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t s = 0; s < columns; ++s) sum = hwy::HWY_NAMESPACE::Add(sum, load(r, s));
  }
  return sum;
}

// The same in parts, and parts of parts, if there are more than kTapsOfPart: what is added one by
// one to a single sum is rounded to the digits of the whole, and equal numbers always to one side,
// so that a mean of 224 x 224 pixels would be right to four digits only.
template <class D, typename Load>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> SumOfTaps(D d, int64_t rows, int64_t columns,
                                                const Load& load) {
  namespace hn = hwy::HWY_NAMESPACE;
  if (rows * columns <= kTapsOfPart) return SumOfPart(d, rows, columns, load);
  auto part = hn::Zero(d);
  hn::Vec<D> parts[kLevelsOfParts] = {part, part, part};  // each of kTapsOfPart of the one before
  int64_t counts[kLevelsOfParts] = {};
  int64_t taps = 0;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t s = 0; s < columns;) {
      const int64_t end = std::min(columns, s + kTapsOfPart);
      taps += end - s;
      for (; s < end; ++s) part = hn::Add(part, load(r, s));
      if (taps < kTapsOfPart) continue;
      parts[0] = hn::Add(parts[0], part);
      part = hn::Zero(d);
      taps = 0;
      for (int l = 0; l + 1 < kLevelsOfParts && ++counts[l] == kTapsOfPart; ++l) {
        parts[l + 1] = hn::Add(parts[l + 1], parts[l]);
        parts[l] = hn::Zero(d);
        counts[l] = 0;
      }
    }
  }
  return hn::Add(hn::Add(hn::Add(parts[2], parts[1]), parts[0]), part);
}

}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
