#include "backends/cpu/kernels/channels_last.h"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/pool_channels_last.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

#include "backends/cpu/kernels/partial-inl.h"
#include "backends/cpu/kernels/tap_sum-inl.h"

#if !defined(HR_CPU_CHANNELS_LAST_POOLS)
#define HR_CPU_CHANNELS_LAST_POOLS
namespace hr::cpu {

// One window. Pixels of x are `pixel` elements apart, its rows `row`; `channels` of them are used.
template <typename T>
struct PoolWindow {
  int64_t rows, columns;  // taps inside the image
  int64_t row, pixel;     // from a tap to the next one
  int64_t channels;
  T scale;  // of a mean
};

template <typename T>
struct ChannelsLastPools {
  void (*max)(const PoolWindow<T>& window, const T* x, T* y);
  void (*max_backward)(const PoolWindow<T>& window, const T* x, const T* dy, T* dx);
  void (*mean)(const PoolWindow<T>& window, const T* x, T* y);
  void (*mean_backward)(const PoolWindow<T>& window, const T* dy, T* dx);
};

}  // namespace hr::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace hr::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
// Of this file: another may use the same names.
namespace {

template <typename T>
using Tag = hn::ScalableTag<T>;

// Calls tap(offset) for each tap.
template <typename T, typename Tap>
HWY_INLINE void ForTaps(const PoolWindow<T>& w, const Tap& tap) {
  for (int64_t r = 0; r < w.rows; ++r) {
    for (int64_t s = 0; s < w.columns; ++s) tap(r * w.row + s * w.pixel);
  }
}

// The first maximum.
template <typename T, typename Lanes>
HWY_INLINE hn::Vec<Tag<T>> MaximumOf(const PoolWindow<T>& w, const Lanes& lanes, const T* x) {
  auto best = hn::Set(Tag<T>(), -std::numeric_limits<T>::infinity());
  if (w.rows > 0 && w.columns > 0) best = lanes.Load(x);
  ForTaps(w, [&](int64_t at) HWY_ATTR {
    const auto value = lanes.Load(x + at);
    best = hn::IfThenElse(IsNewMaximum(value, best), value, best);
  });
  return best;
}

template <typename T>
void Max(const PoolWindow<T>& given, const T* x, T* y) {
  const PoolWindow<T> w = given;
  ForVectors<Tag<T>>(w.channels, [&](int64_t c, const auto& lanes)
                                     HWY_ATTR { lanes.Store(MaximumOf(w, lanes, x + c), y + c); });
}

template <typename T>
void MaxBackward(const PoolWindow<T>& given, const T* x, const T* dy, T* dx) {
  const PoolWindow<T> w = given;
  const Tag<T> d;
  if (w.rows == 0 || w.columns == 0) return;
  ForVectors<Tag<T>>(w.channels, [&](int64_t c, const auto& lanes) HWY_ATTR {
    auto best = lanes.Load(x + c);
    auto place = hn::Zero(d);
    T tap = 0;
    ForTaps(w, [&](int64_t at) HWY_ATTR {
      const auto value = lanes.Load(x + c + at);
      const auto better = IsNewMaximum(value, best);
      best = hn::IfThenElse(better, value, best);
      place = hn::IfThenElse(better, hn::Set(d, tap), place);
      tap += 1;
    });
    const auto gradient = lanes.Load(dy + c);
    tap = 0;
    ForTaps(w, [&](int64_t at) HWY_ATTR {
      const auto taken = hn::IfThenElseZero(hn::Eq(place, hn::Set(d, tap)), gradient);
      lanes.Store(hn::Add(lanes.Load(dx + c + at), taken), dx + c + at);
      tap += 1;
    });
  });
}

template <typename T>
void Mean(const PoolWindow<T>& given, const T* x, T* y) {
  const PoolWindow<T> w = given;
  ForVectors<Tag<T>>(w.channels, [&](int64_t c, const auto& lanes) HWY_ATTR {
    const auto sum = SumOfTaps(Tag<T>(), w.rows, w.columns, [&](int64_t r, int64_t s) HWY_ATTR {
      return lanes.Load(x + c + r * w.row + s * w.pixel);
    });
    lanes.Store(hn::Mul(sum, hn::Set(Tag<T>(), w.scale)), y + c);
  });
}

template <typename T>
void MeanBackward(const PoolWindow<T>& given, const T* dy, T* dx) {
  const PoolWindow<T> w = given;
  ForVectors<Tag<T>>(w.channels, [&](int64_t c, const auto& lanes) HWY_ATTR {
    const auto share = hn::Mul(lanes.Load(dy + c), hn::Set(Tag<T>(), w.scale));
    ForTaps(w, [&](int64_t at)
                   HWY_ATTR { lanes.Store(hn::Add(lanes.Load(dx + c + at), share), dx + c + at); });
  });
}

template <typename T>
constexpr ChannelsLastPools<T> kPools = {Max<T>, MaxBackward<T>, Mean<T>, MeanBackward<T>};

}  // namespace

const ChannelsLastPools<float>& FloatPools() { return kPools<float>; }
const ChannelsLastPools<double>& DoublePools() { return kPools<double>; }

}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hr::cpu {
namespace {

HWY_EXPORT(FloatPools);
HWY_EXPORT(DoublePools);

template <typename T>
const ChannelsLastPools<T>& PoolsOf() {
  if constexpr (sizeof(T) == sizeof(float))
    return HWY_DYNAMIC_DISPATCH(FloatPools)();
  else
    return HWY_DYNAMIC_DISPATCH(DoublePools)();
}

// Calls body(window, offset in x, offset in y) for the windows of output row `oh` of image n; the
// offset in x is that of the first tap inside.
template <typename T, typename Body>
void ForWindows(const PoolShape& s, int64_t n, int64_t oh, Range channels, const Body& body) {
  const Range rows = ValidRows(s, oh);
  for (int64_t ow = 0; ow < s.ow; ++ow) {
    const Range columns = ValidColumns(s, ow);
    const int64_t ih = oh * s.sh - s.pad_top + rows.begin * s.dh;
    const int64_t iw = ow * s.sw - s.pad_left + columns.begin * s.dw;
    const PoolWindow<T> window{.rows = rows.size(),
                               .columns = columns.size(),
                               .row = s.dh * s.iw * s.c,
                               .pixel = s.dw * s.c,
                               .channels = channels.size(),
                               .scale = T{1} / static_cast<T>(AverageDivisor(s, oh, ow))};
    body(window, ((n * s.ih + ih) * s.iw + iw) * s.c + channels.begin,
         ((n * s.oh + oh) * s.ow + ow) * s.c + channels.begin);
  }
}

// Every output row is a unit of its own.
template <typename T, typename Body>
void Forward(const Lease& threads, const PoolShape& s, int slices, const Body& body) {
  threads.ParallelFor(slices, [&](int slice) {
    const Range part = PartOf(s.n * s.oh, slices, slice);
    for (int64_t unit = part.begin; unit < part.end; ++unit) {
      ForWindows<T>(s, unit / s.oh, unit % s.oh, {0, s.c}, body);
    }
  });
}

// Windows may overlap, so an image is cut into channels, by lines of the cache.
template <typename T, typename Body>
void Backward(const Lease& threads, const PoolShape& s, T* dx, int slices, const Body& body) {
  constexpr int64_t kLine = 64 / sizeof(T);
  const int64_t cuts = s.n % slices == 0 ? 1 : std::min<int64_t>(slices, CeilDiv(s.c, kLine));
  threads.ParallelFor(slices, [&](int slice) {
    const Range part = PartOf(s.n * cuts, slices, slice);
    for (int64_t unit = part.begin; unit < part.end; ++unit) {
      const Range lines = PartOf(CeilDiv(s.c, kLine), cuts, unit % cuts);
      const Range channels{lines.begin * kLine, std::min(s.c, lines.end * kLine)};
      const int64_t n = unit / cuts;
      T* pixel = dx + n * s.InputPlane() * s.c + channels.begin;
      for (int64_t i = 0; i < s.InputPlane(); ++i, pixel += s.c) {
        std::fill_n(pixel, channels.size(), T{0});
      }
      for (int64_t oh = 0; oh < s.oh; ++oh) ForWindows<T>(s, n, oh, channels, body);
    }
  });
}

}  // namespace

template <typename T>
void MaxPoolChannelsLast(const Lease& threads, const PoolShape& s, const T* x, T* y, int slices) {
  Forward<T>(threads, s, slices, [&](const PoolWindow<T>& window, int64_t in, int64_t out) {
    PoolsOf<T>().max(window, x + in, y + out);
  });
}

template <typename T>
void MaxPoolChannelsLastBackward(const Lease& threads, const PoolShape& s, const T* dy, const T* x,
                                 T* dx, int slices) {
  Backward(threads, s, dx, slices, [&](const PoolWindow<T>& window, int64_t in, int64_t out) {
    PoolsOf<T>().max_backward(window, x + in, dy + out, dx + in);
  });
}

template <typename T>
void AveragePoolChannelsLast(const Lease& threads, const PoolShape& s, const T* x, T* y,
                             int slices) {
  Forward<T>(threads, s, slices, [&](const PoolWindow<T>& window, int64_t in, int64_t out) {
    PoolsOf<T>().mean(window, x + in, y + out);
  });
}

template <typename T>
void AveragePoolChannelsLastBackward(const Lease& threads, const PoolShape& s, const T* dy, T* dx,
                                     int slices) {
  Backward(threads, s, dx, slices, [&](const PoolWindow<T>& window, int64_t in, int64_t out) {
    PoolsOf<T>().mean_backward(window, dy + out, dx + in);
  });
}

#define HR_INSTANTIATE(T)                                                                       \
  template void MaxPoolChannelsLast(const Lease&, const PoolShape&, const T*, T*, int);         \
  template void MaxPoolChannelsLastBackward(const Lease&, const PoolShape&, const T*, const T*, \
                                            T*, int);                                           \
  template void AveragePoolChannelsLast(const Lease&, const PoolShape&, const T*, T*, int);     \
  template void AveragePoolChannelsLastBackward(const Lease&, const PoolShape&, const T*, T*, int)
HR_INSTANTIATE(float);
HR_INSTANTIATE(double);
#undef HR_INSTANTIATE

}  // namespace hr::cpu
#endif
