#include "backends/cpu/kernels/conv_channels_last_kernels.h"

#include <algorithm>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/conv_channels_last_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backends/cpu/kernels/conv_end-inl.h"
#include "backends/cpu/kernels/partial-inl.h"
#include "backends/cpu/kernels/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hr::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace {

template <typename T>
HWY_INLINE void Copy(const T* from, int64_t count, T* to) {
  ForVectors<hn::ScalableTag<T>>(count, [&](int64_t i, const auto& lanes) HWY_ATTR {
    lanes.Store(lanes.Load(from + i), to + i);
  });
}

template <typename T>
HWY_INLINE void Zero(int64_t count, T* to) {
  const hn::ScalableTag<T> d;
  constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(T));
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(hn::Zero(d), d, to + i);
  for (; i < count; ++i) to[i] = T{0};
}

// The taps of one row of the kernel for a result's column that reads from `first` on.
template <typename T>
HWY_INLINE void GatherRow(const GatherAxis& axis, const T* row, int64_t pixel, int64_t first,
                          Range channels, T* to) {
  const int64_t count = channels.size();
  for (const int64_t tap : axis.taps) {
    const int64_t column = first + tap;
    if (column < 0 || column >= axis.source) {
      Zero(count, to);
    } else {
      Copy(row + column * pixel + channels.begin, count, to);
    }
    to += count;
  }
}

// Taps that are neighbours, all channels of each: one run of memory, cut at the image's ends.
template <typename T>
HWY_INLINE void GatherRun(const GatherAxis& axis, const T* row, int64_t pixel, int64_t first,
                          T* to) {
  const auto taps = static_cast<int64_t>(axis.taps.size());
  const int64_t begin = first + axis.taps[0];
  const int64_t from = std::clamp<int64_t>(-begin, 0, taps);
  const int64_t end = std::clamp<int64_t>(axis.source - begin, from, taps);
  Zero(from * pixel, to);
  Copy(row + (begin + from) * pixel, (end - from) * pixel, to + from * pixel);
  Zero((taps - end) * pixel, to + end * pixel);
}

inline bool AreNeighbours(const std::vector<int64_t>& taps) {
  for (size_t i = 1; i < taps.size(); ++i) {
    if (taps[i] != taps[i - 1] + 1) return false;
  }
  return true;
}

template <typename T>
void GatherPixels(const Gather& g, const T* image, Range pixels, Range channels, T* to,
                  int64_t stride) {
  const bool runs = channels.size() == g.pixel && AreNeighbours(g.columns.taps);
  const int64_t line = static_cast<int64_t>(g.columns.taps.size()) * channels.size();
  for (int64_t p = pixels.begin; p < pixels.end; ++p, to += stride) {
    const int64_t n = p / g.plane(), i = p / g.columns.size % g.rows.size;
    const int64_t first = p % g.columns.size * g.columns.step;
    T* at = to;
    for (const int64_t tap : g.rows.taps) {
      const int64_t source = i * g.rows.step + tap;
      const T* row = image + (n * g.rows.source + source) * g.columns.source * g.pixel;
      if (source < 0 || source >= g.rows.source) {
        Zero(line, at);
      } else if (runs) {
        GatherRun(g.columns, row, g.pixel, first, at);
      } else {
        GatherRow(g.columns, row, g.pixel, first, channels, at);
      }
      at += line;
    }
  }
}

// The rows of a panel in the order of a lane's weights in the plain tensor: all taps of a channel,
// then those of the next one.
class RowsOfPanel {
 public:
  RowsOfPanel(const WeightPanel& panel, int64_t taps) : panel_(panel), taps_(taps) {}

  // Returns where the row begins, and goes on to the next one.
  int64_t Next() {
    const int64_t row = tap_ * panel_.channels + channel_;
    if (++tap_ == taps_) tap_ = 0, ++channel_;
    return row * panel_.width;
  }

 private:
  const WeightPanel& panel_;
  const int64_t taps_;
  int64_t tap_ = 0, channel_ = 0;
};

// Calls blocks(plain, packed) for blocks of kBlock addresses each, and one(plain, packed) for what
// is left, of the weights of `channels` channels that lie one behind the other for each lane. Lanes
// may be so far apart that all fall on the same few lines of the cache, so some go before others.
template <typename Plain, typename Packed, typename Blocks, typename One>
HWY_INLINE void ForRun(const WeightPanel& panel, int64_t taps, int64_t channels, Plain* plain,
                       Packed* packed, const Blocks& blocks, const One& one) {
  constexpr int64_t kB = kBlock<std::remove_const_t<Plain>>;
  constexpr int64_t kLanesAtOnce = 2 * kB;
  const int64_t size = taps * channels, whole = size / kB * kB;
  for (int64_t lane = 0; lane < panel.lanes; lane += kLanesAtOnce) {
    const int64_t end = std::min(panel.lanes, lane + kLanesAtOnce);
    RowsOfPanel rows(panel, taps);
    for (int64_t i = 0; i < size;) {
      const int64_t count = i < whole ? kB : 1;
      Packed* row[kB];
      for (int64_t k = 0; k < count; ++k) row[k] = packed + rows.Next();
      int64_t l = lane;
      for (; count == kB && l + kB <= end; l += kB) {
        Plain* const from = plain + l * panel.lane + i;
        Plain* lanes[kB];
        Packed* at[kB];
        for (int64_t k = 0; k < kB; ++k) {
          lanes[k] = from + k * panel.lane;
          at[k] = row[k] + l;
        }
        blocks(lanes, at);
      }
      for (; l < end; ++l) {
        for (int64_t k = 0; k < count; ++k) one(plain + l * panel.lane + i + k, row[k] + l);
      }
      i += count;
    }
  }
}

// Calls `blocks` and `one` for all weights of the panel.
template <typename Plain, typename Packed, typename Blocks, typename One>
HWY_INLINE void ForWeights(const WeightPanel& panel, Plain* plain, Packed* packed,
                           const Blocks& blocks, const One& one) {
  const std::vector<int64_t>& taps = *panel.taps;
  const auto count = static_cast<int64_t>(taps.size());
  const bool all = AreNeighbours(taps) && taps[0] == 0;
  if (all && panel.channel == count) {
    return ForRun(panel, count, panel.channels, plain, packed, blocks, one);
  }
  for (int64_t c = 0; c < panel.channels; ++c) {
    Plain* const from = plain + c * panel.channel;
    Packed* const to = packed + c * panel.width;
    if (all && count > 1) {
      ForRun(panel, count, 1, from, to, blocks, one);
      continue;
    }
    for (int64_t t = 0; t < count; ++t) {
      Plain* const tap = from + taps[static_cast<size_t>(t)];
      Packed* const row = to + t * panel.channels * panel.width;
      for (int64_t l = 0; l < panel.lanes; ++l) one(tap + l * panel.lane, row + l);
    }
  }
}

template <typename T>
void Pack(const WeightPanel& panel, const T* plain, T* packed) {
  ForWeights(
      panel, plain, packed,
      [](const T* const* from, T* const* to) HWY_ATTR { TransposeBlock(from, to); },
      [](const T* from, T* to) { *to = *from; });
  if (panel.lanes == panel.width) return;
  const int64_t rows = panel.channels * static_cast<int64_t>(panel.taps->size());
  for (int64_t row = 0; row < rows; ++row) {
    std::fill(packed + row * panel.width + panel.lanes, packed + (row + 1) * panel.width, T{0});
  }
}

template <typename T>
void Unpack(const WeightPanel& panel, const T* packed, T* plain) {
  ForWeights(
      panel, plain, packed,
      [](T* const* to, const T* const* from) HWY_ATTR { TransposeBlock(from, to); },
      [](T* to, const T* from) { *to = *from; });
}

template <typename T>
void Finish(const ConvEpilogue<T>& given, int64_t pixels, int64_t channels, const T* from,
            int64_t from_stride, T* y, int64_t stride) {
  const ConvEpilogue<T> e = given;
  ForVectors<hn::ScalableTag<T>>(channels, [&](int64_t c, const auto& lanes) HWY_ATTR {
    const ConvEnd end(e, lanes, c);
    for (int64_t i = 0; i < pixels; ++i) {
      const int64_t at = i * stride;
      lanes.Store(end.Of(lanes.Load(from + c + i * from_stride), at), y + c + at);
    }
  });
}

template <typename T>
constexpr ConvChannelsLastKernels<T> kKernels = {GatherPixels<T>, Pack<T>, Unpack<T>, Finish<T>};

}  // namespace

const ConvChannelsLastKernels<float>& FloatConvChannelsLast() { return kKernels<float>; }
const ConvChannelsLastKernels<double>& DoubleConvChannelsLast() { return kKernels<double>; }

}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hr::cpu {

HWY_EXPORT(FloatConvChannelsLast);
HWY_EXPORT(DoubleConvChannelsLast);

template <>
const ConvChannelsLastKernels<float>& KernelsForConvChannelsLast() {
  return HWY_DYNAMIC_DISPATCH(FloatConvChannelsLast)();
}
template <>
const ConvChannelsLastKernels<double>& KernelsForConvChannelsLast() {
  return HWY_DYNAMIC_DISPATCH(DoubleConvChannelsLast)();
}

}  // namespace hr::cpu
#endif
