#include "backends/cpu/kernels/depthwise_channels_last.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "backends/cpu/kernels/sum_parts.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/depthwise_channels_last.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

#include "backends/cpu/kernels/conv_end-inl.h"
#include "backends/cpu/kernels/partial-inl.h"

#if !defined(HR_CPU_DEPTHWISE_KERNELS)
#define HR_CPU_DEPTHWISE_KERNELS
namespace hr::cpu {

// Some neighbouring pixels of a result, which read the same taps of the kernel.
struct DepthwiseCall {
  int64_t channels, pixels;
  int64_t rows, taps;    // taps of each row of the kernel
  int64_t x_row, w_row;  // from a row of the kernel to the next one
  int64_t x_tap, w_tap;  // from a tap to the next one
  int64_t x_pixel;       // from what a pixel reads to what the next one reads
  int64_t y_pixel;
};

template <typename T>
struct DepthwiseKernels {
  // y = epilogue(the sum of w x over the taps)
  void (*sum)(const DepthwiseCall& call, const T* x, const T* w, const ConvEpilogue<T>& epilogue,
              T* y);
  // w += the sum of dy x over the pixels, for each tap.
  void (*add_weights)(const DepthwiseCall& call, const T* x, const T* dy, T* w);
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

template <int64_t kCount, typename T, typename Lanes>
HWY_INLINE void SumPixels(const DepthwiseCall& call, const Lanes& lanes,
                          const ConvEnd<T, Lanes>& end, const T* x, const T* w, int64_t pixel,
                          T* y) {
  hn::Vec<Tag<T>> sums[kCount];
  for (int64_t i = 0; i < kCount; ++i) sums[i] = hn::Zero(Tag<T>());
  for (int64_t r = 0; r < call.rows; ++r) {
    for (int64_t t = 0; t < call.taps; ++t) {
      const auto weight = lanes.Load(w + r * call.w_row + t * call.w_tap);
      const T* const from = x + r * call.x_row + t * call.x_tap;
      for (int64_t i = 0; i < kCount; ++i) {
        sums[i] = hn::MulAdd(weight, lanes.Load(from + i * call.x_pixel), sums[i]);
      }
    }
  }
  for (int64_t i = 0; i < kCount; ++i) {
    const int64_t at = (pixel + i) * call.y_pixel;
    lanes.Store(end.Of(sums[i], at), y + at);
  }
}

template <typename T>
void Sum(const DepthwiseCall& given, const T* x, const T* w, const ConvEpilogue<T>& epilogue,
         T* y) {
  const DepthwiseCall call = given;
  const auto some = [&](int64_t pixel, auto count) HWY_ATTR {
    ForVectors<Tag<T>>(call.channels, [&](int64_t c, const auto& lanes) HWY_ATTR {
      const ConvEnd end(epilogue, lanes, c);
      SumPixels<decltype(count)::value>(call, lanes, end, x + c + pixel * call.x_pixel, w + c,
                                        pixel, y + c);
    });
  };
  int64_t pixel = 0;
  for (; pixel + kPixels <= call.pixels; pixel += kPixels) {
    some(pixel, std::integral_constant<int64_t, kPixels>());
  }
  for (; pixel + 2 <= call.pixels; pixel += 2) some(pixel, std::integral_constant<int64_t, 2>());
  for (; pixel < call.pixels; ++pixel) some(pixel, std::integral_constant<int64_t, 1>());
}

template <typename T, int64_t kTaps, typename Lanes>
HWY_INLINE void AddTaps(const DepthwiseCall& call, const Lanes& lanes, const T* x, const T* dy,
                        T* w) {
  hn::Vec<Tag<T>> sums[kTaps];
  for (int64_t t = 0; t < kTaps; ++t) sums[t] = hn::Zero(Tag<T>());
  for (int64_t i = 0; i < call.pixels; ++i) {
    const auto d = lanes.Load(dy + i * call.y_pixel);
    for (int64_t t = 0; t < kTaps; ++t) {
      sums[t] = hn::MulAdd(d, lanes.Load(x + t * call.x_tap + i * call.x_pixel), sums[t]);
    }
  }
  for (int64_t t = 0; t < kTaps; ++t) {
    T* const to = w + t * call.w_tap;
    lanes.Store(hn::Add(lanes.Load(to), sums[t]), to);
  }
}

template <typename T>
void AddWeights(const DepthwiseCall& given, const T* x, const T* dy, T* w) {
  const DepthwiseCall call = given;
  ForVectors<Tag<T>>(call.channels, [&](int64_t c, const auto& lanes) HWY_ATTR {
    for (int64_t r = 0; r < call.rows; ++r) {
      const T* const from = x + c + r * call.x_row;
      T* const to = w + c + r * call.w_row;
      int64_t t = 0;
      for (; t + 3 <= call.taps; t += 3) {
        AddTaps<T, 3>(call, lanes, from + t * call.x_tap, dy + c, to + t * call.w_tap);
      }
      for (; t < call.taps; ++t) {
        AddTaps<T, 1>(call, lanes, from + t * call.x_tap, dy + c, to + t * call.w_tap);
      }
    }
  });
}

template <typename T>
constexpr DepthwiseKernels<T> kDepthwise = {Sum<T>, AddWeights<T>};

}  // namespace

const DepthwiseKernels<float>& FloatDepthwise() { return kDepthwise<float>; }
const DepthwiseKernels<double>& DoubleDepthwise() { return kDepthwise<double>; }

}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hr::cpu {
namespace {

template <typename T>
constexpr int64_t kLine = 64 / sizeof(T);

// Part `slice` of the channels, in whole lines of the cache; empty if there are fewer.
template <typename T>
Range LinesOf(int64_t channels, int slices, int slice) {
  const Range lines = PartOf(CeilDiv(channels, kLine<T>), slices, slice);
  return {lines.begin * kLine<T>, std::min(channels, lines.end * kLine<T>)};
}

HWY_EXPORT(FloatDepthwise);
HWY_EXPORT(DoubleDepthwise);

template <typename T>
const DepthwiseKernels<T>& KernelsForDepthwise() {
  if constexpr (sizeof(T) == sizeof(float))
    return HWY_DYNAMIC_DISPATCH(FloatDepthwise)();
  else
    return HWY_DYNAMIC_DISPATCH(DoubleDepthwise)();
}

// Taps that are the same distance apart, as those of a row or column of the kernel always are.
int64_t StepOf(const GatherAxis& axis) {
  return axis.taps.size() < 2 ? 1 : axis.taps[1] - axis.taps[0];
}

// Calls body(call, where it reads, pixel of the phase, first tap of the kernel) for all runs of
// pixels of some channels in row `row` of image n.
template <typename Body>
void ForRuns(const DepthwisePhase& phase, int64_t n, int64_t row, Range channels,
             const Body& body) {
  const Gather& g = phase.gather;
  const auto row_taps = static_cast<int64_t>(g.columns.taps.size());
  const Range rows = TapsInside(g.rows, row);
  const int64_t y =
      rows.size() == 0 ? 0 : row * g.rows.step + g.rows.taps[static_cast<size_t>(rows.begin)];
  for (const TapRun& run : phase.runs) {
    const int64_t taps = rows.size() == 0 ? 0 : run.taps.size();
    const int64_t x = taps == 0 ? 0
                                : run.positions.begin * g.columns.step +
                                      g.columns.taps[static_cast<size_t>(run.taps.begin)];
    body(DepthwiseCall{.channels = channels.size(),
                       .pixels = run.positions.size(),
                       .rows = taps == 0 ? 0 : rows.size(),
                       .taps = taps,
                       .x_row = StepOf(g.rows) * g.columns.source * g.pixel,
                       .w_row = row_taps * g.pixel,
                       .x_tap = StepOf(g.columns) * g.pixel,
                       .w_tap = g.pixel,
                       .x_pixel = g.columns.step * g.pixel,
                       .y_pixel = phase.column_step * g.pixel},
         ((n * g.rows.source + y) * g.columns.source + x) * g.pixel + channels.begin,
         (n * g.rows.size + row) * g.columns.size + run.positions.begin,
         rows.begin * row_taps + run.taps.begin);
  }
}

}  // namespace

DepthwisePhase::DepthwisePhase(ConvPhase phase)
    : ConvPhase(std::move(phase)), runs(TapRunsOf(gather.columns)) {}

std::vector<DepthwisePhase> DepthwisePhasesOf(const ConvShape& shape, ImagePass pass) {
  std::vector<DepthwisePhase> out;
  for (ConvPhase& phase : PhasesOf(shape, pass)) out.emplace_back(std::move(phase));
  return out;
}

template <typename T>
std::string DepthwiseChannelsLast<T>::packed_format() const {
  std::string out = Cat("depthwise ", WeightsText(s_));
  for (const DepthwisePhase& phase : phases_) {
    for (const int64_t tap : phase.taps) out += Cat(' ', tap);
  }
  return out;
}

template <typename T>
void DepthwiseChannelsLast<T>::Pack(const Lease& threads, const T* weights, T* packed) const {
  const int64_t channels = s_.ic;
  threads.ParallelFor(slices_, [&](int slice) {
    const Range part = LinesOf<T>(channels, slices_, slice);
    T* to = packed;
    for (const DepthwisePhase& phase : phases_) {
      for (const int64_t tap : phase.taps) {
        const T* const from = weights + tap;
        for (int64_t c = part.begin; c < part.end; ++c) to[c] = from[c * s_.KernelSize()];
        to += channels;
      }
    }
  });
}

// The part of one thread: rows, or lines of channels if that is more even.
template <typename T>
void DepthwiseChannelsLast<T>::RunPart(const DepthwisePhase& phase,
                                       const ConvImageMemory<T>& memory, const T* weights,
                                       Range rows, Range channels) const {
  const auto& kernels = KernelsForDepthwise<T>();
  const int64_t height = phase.gather.rows.size, pixel = s_.ic;
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    ForRuns(phase, row / height, row % height, channels,
            [&](const DepthwiseCall& call, int64_t from, int64_t at, int64_t tap) {
              const int64_t to = phase.ResultPixel(at) * pixel;
              ConvEpilogue<T> epilogue = memory.epilogue;
              MoveTo(&epilogue, channels.begin, to);
              kernels.sum(call, memory.image + from, weights + tap * pixel + channels.begin,
                          epilogue, memory.result + to + channels.begin);
            });
  }
}

template <typename T>
void DepthwiseChannelsLast<T>::Run(const Lease& threads, const ConvImageMemory<T>& memory,
                                   void* scratch) const {
  const T* weights = memory.weights;
  if (!packed_) {
    Pack(threads, memory.weights, static_cast<T*>(scratch));
    weights = static_cast<const T*>(scratch);
  }
  const int64_t channels = s_.ic, lines = CeilDiv(channels, kLine<T>);
  for (const DepthwisePhase& phase : phases_) {
    const int64_t rows = s_.n * phase.gather.rows.size;
    const bool by_lines =
        channels % kLine<T> == 0 && CeilDiv(lines, slices_) * rows < CeilDiv(rows, slices_) * lines;
    threads.ParallelFor(slices_, [&](int slice) {
      RunPart(phase, memory, weights, by_lines ? Range{0, rows} : PartOf(rows, slices_, slice),
              by_lines ? LinesOf<T>(channels, slices_, slice) : Range{0, channels});
    });
    weights += static_cast<int64_t>(phase.taps.size()) * channels;
  }
}

template <typename T>
void DepthwiseChannelsLastWeights<T>::Run(const Lease& threads, const T* x, const T* dy, T* dw,
                                          void* scratch) const {
  T* const sums = static_cast<T*>(scratch);  // [tap][channel]
  const int64_t channels = s_.ic, taps = s_.KernelSize();
  threads.ParallelFor(slices_, [&](int slice) {
    const Range part = LinesOf<T>(channels, slices_, slice);
    if (part.size() <= 0) return;
    for (int64_t t = 0; t < taps; ++t) {
      std::fill_n(sums + t * channels + part.begin, part.size(), T{0});
    }
    for (int64_t row = 0; row < s_.n * s_.oh; ++row) {
      ForRuns(phase_, row / s_.oh, row % s_.oh, part,
              [&](const DepthwiseCall& call, int64_t from, int64_t pixel, int64_t tap) {
                DepthwiseCall some = call;
                for (int64_t at = 0; at < call.pixels; at += some.pixels) {
                  some.pixels = TermsOfPart(call.pixels - at);
                  KernelsForDepthwise<T>().add_weights(some, x + from + at * call.x_pixel,
                                                       dy + (pixel + at) * channels + part.begin,
                                                       sums + tap * channels + part.begin);
                }
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
