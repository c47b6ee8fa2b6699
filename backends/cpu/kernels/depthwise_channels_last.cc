#include "backends/cpu/kernels/depthwise_channels_last.h"

#include <algorithm>

#include "backends/cpu/kernels/conv_channels_last_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/depthwise_channels_last.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

#include "backends/cpu/kernels/partial-inl.h"

#if !defined(HR_CPU_DEPTHWISE_KERNELS)
#define HR_CPU_DEPTHWISE_KERNELS
namespace hr::cpu {

// Some neighbouring pixels of a result, which read the same taps of a row of the kernel.
template <typename T>
struct DepthwiseCall {
  int64_t channels, pixels;
  int64_t taps;
  int64_t x_tap, w_tap;  // from a tap to the next one
  int64_t x_pixel;       // from what a pixel reads to what the next one reads
  int64_t y_pixel;
};

template <typename T>
struct DepthwiseKernels {
  // y += the sum of w x over the taps.
  void (*add)(const DepthwiseCall<T>& call, const T* x, const T* w, T* y);
  // w += the sum of dy x over the pixels, for each tap.
  void (*add_weights)(const DepthwiseCall<T>& call, const T* x, const T* dy, T* w);
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
constexpr int64_t kPixels = 6;  // that share a load of a weight

template <typename T, int64_t kCount, typename Lanes>
HWY_INLINE void AddPixels(const DepthwiseCall<T>& call, const Lanes& lanes, const T* x, const T* w,
                          T* y) {
  hn::Vec<Tag<T>> sums[kCount];
  for (int64_t i = 0; i < kCount; ++i) sums[i] = lanes.Load(y + i * call.y_pixel);
  for (int64_t t = 0; t < call.taps; ++t) {
    const auto weight = lanes.Load(w + t * call.w_tap);
    for (int64_t i = 0; i < kCount; ++i) {
      sums[i] = hn::MulAdd(weight, lanes.Load(x + t * call.x_tap + i * call.x_pixel), sums[i]);
    }
  }
  for (int64_t i = 0; i < kCount; ++i) lanes.Store(sums[i], y + i * call.y_pixel);
}

template <typename T>
void Add(const DepthwiseCall<T>& given, const T* x, const T* w, T* y) {
  const DepthwiseCall<T> call = given;
  ForVectors<Tag<T>>(call.channels, [&](int64_t c, const auto& lanes) HWY_ATTR {
    int64_t i = 0;
    for (; i + kPixels <= call.pixels; i += kPixels) {
      AddPixels<T, kPixels>(call, lanes, x + c + i * call.x_pixel, w + c, y + c + i * call.y_pixel);
    }
    for (; i < call.pixels; ++i) {
      AddPixels<T, 1>(call, lanes, x + c + i * call.x_pixel, w + c, y + c + i * call.y_pixel);
    }
  });
}

template <typename T, int64_t kTaps, typename Lanes>
HWY_INLINE void AddTaps(const DepthwiseCall<T>& call, const Lanes& lanes, const T* x, const T* dy,
                        T* w) {
  hn::Vec<Tag<T>> sums[kTaps];
  for (int64_t t = 0; t < kTaps; ++t) sums[t] = lanes.Load(w + t * call.w_tap);
  for (int64_t i = 0; i < call.pixels; ++i) {
    const auto d = lanes.Load(dy + i * call.y_pixel);
    for (int64_t t = 0; t < kTaps; ++t) {
      sums[t] = hn::MulAdd(d, lanes.Load(x + t * call.x_tap + i * call.x_pixel), sums[t]);
    }
  }
  for (int64_t t = 0; t < kTaps; ++t) lanes.Store(sums[t], w + t * call.w_tap);
}

template <typename T>
void AddWeights(const DepthwiseCall<T>& given, const T* x, const T* dy, T* w) {
  const DepthwiseCall<T> call = given;
  ForVectors<Tag<T>>(call.channels, [&](int64_t c, const auto& lanes) HWY_ATTR {
    int64_t t = 0;
    for (; t + 3 <= call.taps; t += 3) {
      AddTaps<T, 3>(call, lanes, x + c + t * call.x_tap, dy + c, w + c + t * call.w_tap);
    }
    for (; t < call.taps; ++t) {
      AddTaps<T, 1>(call, lanes, x + c + t * call.x_tap, dy + c, w + c + t * call.w_tap);
    }
  });
}

template <typename T>
constexpr DepthwiseKernels<T> kDepthwise = {Add<T>, AddWeights<T>};

}  // namespace

const DepthwiseKernels<float>& FloatDepthwise() { return kDepthwise<float>; }
const DepthwiseKernels<double>& DoubleDepthwise() { return kDepthwise<double>; }

}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hr::cpu {
namespace {

HWY_EXPORT(FloatDepthwise);
HWY_EXPORT(DoubleDepthwise);

template <typename T>
const DepthwiseKernels<T>& KernelsForDepthwise() {
  if constexpr (sizeof(T) == sizeof(float))
    return HWY_DYNAMIC_DISPATCH(FloatDepthwise)();
  else
    return HWY_DYNAMIC_DISPATCH(DoubleDepthwise)();
}

// Taps that are the same distance apart, as those of a row of the kernel always are.
int64_t StepOf(const GatherAxis& axis) {
  return axis.taps.size() < 2 ? 1 : axis.taps[1] - axis.taps[0];
}

// The taps of an axis that position `i` finds inside the source.
Range TapsInside(const GatherAxis& axis, int64_t i) {
  const auto inside = [&](int64_t t) {
    const int64_t at = i * axis.step + axis.taps[static_cast<size_t>(t)];
    return at >= 0 && at < axis.source;
  };
  Range taps{0, static_cast<int64_t>(axis.taps.size())};
  while (taps.begin < taps.end && !inside(taps.begin)) ++taps.begin;
  while (taps.begin < taps.end && !inside(taps.end - 1)) --taps.end;
  return taps;
}

// Calls body(columns, taps) for runs of a row's pixels that read the same taps.
template <typename Body>
void ForColumnRuns(const GatherAxis& axis, const Body& body) {
  for (int64_t i = 0; i < axis.size;) {
    const Range taps = TapsInside(axis, i);
    int64_t end = i + 1;
    while (end < axis.size) {
      const Range next = TapsInside(axis, end);
      if (next.begin != taps.begin || next.end != taps.end) break;
      ++end;
    }
    body(Range{i, end}, taps);
    i = end;
  }
}

// Calls body(call, where it reads, pixel of the phase, first tap of the kernel) for all runs of
// pixels of some channels in row `row` of image n.
template <typename T, typename Body>
void ForRuns(const ConvPhase& phase, int64_t n, int64_t row, Range channels, const Body& body) {
  const Gather& g = phase.gather;
  const auto row_taps = static_cast<int64_t>(g.columns.taps.size());
  ForColumnRuns(g.columns, [&](Range columns, Range taps) {
    DepthwiseCall<T> call{.channels = channels.size(),
                          .pixels = columns.size(),
                          .taps = taps.size(),
                          .x_tap = StepOf(g.columns) * g.pixel,
                          .x_pixel = g.columns.step * g.pixel,
                          .y_pixel = phase.column_step * g.pixel};
    const Range rows = TapsInside(g.rows, row);
    for (int64_t r = rows.begin; r < rows.end && call.taps > 0; ++r) {
      const int64_t y = row * g.rows.step + g.rows.taps[static_cast<size_t>(r)];
      const int64_t x =
          columns.begin * g.columns.step + g.columns.taps[static_cast<size_t>(taps.begin)];
      const int64_t from = ((n * g.rows.source + y) * g.columns.source + x) * g.pixel;
      body(call, from + channels.begin, (n * g.rows.size + row) * g.columns.size + columns.begin,
           r * row_taps + taps.begin);
    }
  });
}

}  // namespace

template <typename T>
void DepthwiseChannelsLast<T>::Run(const Lease& threads, const ConvImageMemory<T>& memory,
                                   void* scratch) const {
  T* const weights = static_cast<T*>(scratch);  // of all phases: [tap][channel]
  const int64_t channels = s_.ic;
  int64_t first = 0;
  for (const ConvPhase& phase : phases_) {
    const auto taps = static_cast<int64_t>(phase.taps.size());
    T* const mine = weights + first * channels;
    for (int64_t t = 0; t < taps; ++t) {
      const T* const from = memory.weights + phase.taps[static_cast<size_t>(t)];
      for (int64_t c = 0; c < channels; ++c) mine[t * channels + c] = from[c * s_.KernelSize()];
    }
    first += taps;
    threads.ParallelFor(slices_, [&](int slice) {
      const int64_t size = phase.gather.rows.size, columns = phase.gather.columns.size;
      const Range rows = PartOf(s_.n * size, slices_, slice);
      for (int64_t row = rows.begin; row < rows.end; ++row) {
        for (int64_t i = 0; i < columns; ++i) {
          std::fill_n(memory.result + phase.ResultPixel(row * columns + i) * channels, channels,
                      T{0});
        }
        ForRuns<T>(phase, row / size, row % size, {0, channels},
                   [&](DepthwiseCall<T> call, int64_t from, int64_t pixel, int64_t tap) {
                     call.w_tap = channels;
                     KernelsForDepthwise<T>().add(
                         call, memory.image + from, mine + tap * channels,
                         memory.result + phase.ResultPixel(pixel) * channels);
                   });
        if (memory.epilogue.IsNone()) continue;
        ConvEpilogue<T> epilogue = memory.epilogue;
        const int64_t at = row * columns * channels;
        if (epilogue.residual != nullptr) epilogue.residual += at;
        KernelsForConvChannelsLast<T>().finish(epilogue, columns, channels, channels,
                                               memory.result + at);
      }
    });
  }
}

template <typename T>
void DepthwiseChannelsLastWeights<T>::Run(const Lease& threads, const T* x, const T* dy, T* dw,
                                          void* scratch) const {
  constexpr int64_t kLine = 64 / sizeof(T);
  T* const sums = static_cast<T*>(scratch);  // [tap][channel]
  const int64_t channels = s_.ic, taps = s_.KernelSize();
  threads.ParallelFor(slices_, [&](int slice) {
    const Range lines = PartOf(CeilDiv(channels, kLine), slices_, slice);
    const Range part{lines.begin * kLine, std::min(channels, lines.end * kLine)};
    if (part.size() <= 0) return;
    for (int64_t t = 0; t < taps; ++t) {
      std::fill_n(sums + t * channels + part.begin, part.size(), T{0});
    }
    for (int64_t row = 0; row < s_.n * s_.oh; ++row) {
      ForRuns<T>(phase_, row / s_.oh, row % s_.oh, part,
                 [&](DepthwiseCall<T> call, int64_t from, int64_t pixel, int64_t tap) {
                   call.w_tap = channels;
                   KernelsForDepthwise<T>().add_weights(call, x + from,
                                                        dy + pixel * channels + part.begin,
                                                        sums + tap * channels + part.begin);
                 });
    }
    for (int64_t c = part.begin; c < part.end; ++c) {
      for (int64_t t = 0; t < taps; ++t) dw[c * taps + t] = sums[t * channels + c];
    }
  });
}

template class DepthwiseChannelsLast<float>;
template class DepthwiseChannelsLast<double>;
template class DepthwiseChannelsLastWeights<float>;
template class DepthwiseChannelsLastWeights<double>;

}  // namespace hr::cpu
#endif
