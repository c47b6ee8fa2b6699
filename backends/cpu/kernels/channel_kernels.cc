#include "backends/cpu/kernels/channel_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/channel_kernels.cc"
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

// Calls visit(offset, sum number, lanes) for each vector: neighbours have different numbers, from 0
// to 3, so that no addition waits for the one before it.
template <typename T, typename Visit>
HWY_INLINE void ForRuns(const ChannelRuns& runs, const Visit& visit) {
  constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(T));
  for (int64_t run = 0; run < runs.runs; ++run) {
    const int64_t begin = run * runs.stride, end = begin + runs.length;
    int64_t i = begin;
    for (; i + 4 * kLanes <= end; i += 4 * kLanes) {
      visit(i, 0, WholeLanes<Tag<T>>());
      visit(i + kLanes, 1, WholeLanes<Tag<T>>());
      visit(i + 2 * kLanes, 2, WholeLanes<Tag<T>>());
      visit(i + 3 * kLanes, 3, WholeLanes<Tag<T>>());
    }
    for (; i + kLanes <= end; i += kLanes) visit(i, 0, WholeLanes<Tag<T>>());
    if (i < end) visit(i, 1, FirstLanes<Tag<T>>(end - i));
  }
}

template <typename T>
struct Sums {
  HWY_INLINE Sums() {
    for (auto& sum : part) sum = hn::Zero(Tag<T>());
  }
  HWY_INLINE T Total() const {
    const auto sum = hn::Add(hn::Add(part[0], part[1]), hn::Add(part[2], part[3]));
    return hn::GetLane(hn::SumOfLanes(Tag<T>(), sum));
  }

  Vector<T> part[4];
};

// The mean is taken of the distances from a rounded one, which are small.
template <typename T>
Moments MomentsOf(const T* x, const ChannelRuns& runs) {
  const auto count = static_cast<double>(runs.runs * runs.length);
  Sums<T> sums, rest, squares;
  ForRuns<T>(runs, [&](int64_t i, int n, const auto& lanes)
                       HWY_ATTR { sums.part[n] = hn::Add(sums.part[n], lanes.Load(x + i)); });
  const T mean = static_cast<T>(static_cast<double>(sums.Total()) / count);
  const auto m = hn::Set(Tag<T>(), mean), zero = hn::Zero(Tag<T>());
  ForRuns<T>(runs, [&](int64_t i, int n, const auto& lanes) HWY_ATTR {
    const auto away = lanes.Keep(hn::Sub(lanes.Load(x + i), m), zero);
    rest.part[n] = hn::Add(rest.part[n], away);
    squares.part[n] = hn::MulAdd(away, away, squares.part[n]);
  });
  const auto off = static_cast<double>(rest.Total());
  return {count, static_cast<double>(mean) + off / count,
          static_cast<double>(squares.Total()) - off * off / count};
}

// A ChannelLine in vectors.
template <typename T>
struct Line {
  explicit Line(const ChannelLine<T>& line)
      : mean(hn::Set(Tag<T>(), line.mean)),
        factor(hn::Set(Tag<T>(), line.factor)),
        bias(hn::Set(Tag<T>(), line.bias)) {}
  HWY_INLINE Vector<T> At(Vector<T> away) const { return hn::MulAdd(away, factor, bias); }
  // `dy` where a ReLU has passed the element, if one followed.
  template <bool kRelu>
  HWY_INLINE Vector<T> Passed(Vector<T> away, Vector<T> dy) const {
    if constexpr (!kRelu) return dy;
    return hn::IfThenElseZero(hn::Gt(At(away), hn::Zero(Tag<T>())), dy);
  }

  Vector<T> mean, factor, bias;
};

template <typename T, bool kRelu>
void Normalize(const T* x, const ChannelRuns& runs, const ChannelLine<T>& given, const T* residual,
               T* y) {
  const Line<T> line(given);
  const auto zero = hn::Zero(Tag<T>());
  ForRuns<T>(runs, [&](int64_t i, int, const auto& lanes) HWY_ATTR {
    auto value = line.At(hn::Sub(lanes.Load(x + i), line.mean));
    if (residual != nullptr) value = hn::Add(value, lanes.Load(residual + i));
    if (kRelu) value = hn::IfThenElse(hn::Lt(value, zero), zero, value);
    lanes.Store(value, y + i);
  });
}

template <typename T, bool kRelu>
void Dots(const T* dy, const T* x, const ChannelRuns& runs, const ChannelLine<T>& given,
          T sums[2]) {
  const Line<T> line(given);
  Sums<T> sum, product;
  ForRuns<T>(runs, [&](int64_t i, int n, const auto& lanes) HWY_ATTR {
    const auto away = hn::Sub(lanes.Load(x + i), line.mean);
    const auto d = line.template Passed<kRelu>(away, lanes.Load(dy + i));  // 0 beyond the end
    sum.part[n] = hn::Add(sum.part[n], d);
    product.part[n] = hn::MulAdd(d, away, product.part[n]);
  });
  sums[0] = sum.Total();
  sums[1] = product.Total();
}

template <typename T, bool kRelu>
void Gradient(const T* dy, const T* x, const ChannelRuns& runs, const ChannelLine<T>& given,
              T share, T slope, T* dx) {
  const Line<T> line(given);
  const auto b = hn::Set(Tag<T>(), share), c = hn::Set(Tag<T>(), slope);
  ForRuns<T>(runs, [&](int64_t i, int, const auto& lanes) HWY_ATTR {
    const auto away = hn::Sub(lanes.Load(x + i), line.mean);
    const auto d = line.template Passed<kRelu>(away, lanes.Load(dy + i));
    lanes.Store(hn::Mul(hn::NegMulAdd(away, c, hn::Sub(d, b)), line.factor), dx + i);
  });
}

template <typename T>
constexpr ChannelKernels<T> kTable = {.moments = MomentsOf<T>,
                                      .normalize = {Normalize<T, false>, Normalize<T, true>},
                                      .dots = {Dots<T, false>, Dots<T, true>},
                                      .gradient = {Gradient<T, false>, Gradient<T, true>}};

}  // namespace

const ChannelKernels<float>& FloatChannels() { return kTable<float>; }
const ChannelKernels<double>& DoubleChannels() { return kTable<double>; }

}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hr::cpu {
HWY_EXPORT(FloatChannels);
HWY_EXPORT(DoubleChannels);

template <>
const ChannelKernels<float>& KernelsForChannels() {
  return HWY_DYNAMIC_DISPATCH(FloatChannels)();
}

template <>
const ChannelKernels<double>& KernelsForChannels() {
  return HWY_DYNAMIC_DISPATCH(DoubleChannels)();
}

}  // namespace hr::cpu
#endif
