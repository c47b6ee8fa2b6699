#include "backends/cpu/kernels/depthwise_plain.h"

#include <algorithm>
#include <utility>

#include "backends/cpu/kernels/sum_parts.h"
#include "backends/cpu/kernels/unroll.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/depthwise_plain.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "backends/cpu/kernels/partial-inl.h"

#if !defined(HR_CPU_DEPTHWISE_PLAIN_KERNELS)
#define HR_CPU_DEPTHWISE_PLAIN_KERNELS
namespace hr::cpu {

// Pixels of a channel, and the rows that they read.
struct PlainCall {
  int64_t rows, columns;
  int64_t x_row, y_row;
  const int64_t* taps;  // offsets into x
  int64_t count;        // of taps
};

struct PlainCopy {
  int64_t rows, columns;
  int64_t from_row, to_row;
  int64_t step;   // 1 or 2
  int64_t first;  // element of a row, of all its parts
  int64_t part;   // from a part to the next one
  int64_t ahead;  // elements
};

template <typename T>
struct DepthwisePlainKernels {
  int64_t lanes;  // of a vector
  // y = the end of the sum over the taps of weights[order[tap]] x.
  void (*sum)(const PlainCall& call, const T* x, const T* weights, const int64_t* order,
              const PlainEnd<T>& end, T* y);
  // sums[tap][lane] += the sum of dy x over the pixels, whose column is `lane` of a vector.
  void (*add_weights)(const PlainCall& call, const T* x, const T* dy, T* sums);
  // to[tap] = the sum of sums[tap].
  void (*sum_lanes)(const T* sums, int64_t taps, T* to);
  // Copies rows, of which every second element goes to a part by itself if `step` is 2, and asks
  // for what lies `ahead` of them.
  void (*copy)(const PlainCopy& call, const T* from, T* to);
  // to[2 i] = even[i], to[2 i + 1] = odd[i]; whole vectors of both are read.
  void (*join)(const T* even, const T* odd, int64_t pairs, T* to);
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
template <typename T>
constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(T));

template <typename T, int kRows>
HWY_INLINE void SumRows(const PlainCall& call, const T* x, const T* weights, const int64_t* order,
                        const PlainEnd<T>& end, T* y) {
  using D = Tag<T>;
  const auto bias = hn::Set(D(), end.bias);
  const bool relu = end.relu;
  for (int64_t at = 0; at < call.columns; at += kLanes<T>) {
    const FirstLanes<D> lanes(std::min(call.columns - at, kLanes<T>));
    hn::Vec<D> sums[kRows];
    HR_UNROLL for (int r = 0; r < kRows; ++r) sums[r] = hn::Zero(D());
    for (int64_t t = 0; t < call.count; ++t) {
      const auto weight = hn::Set(D(), weights[order[t]]);
      const T* const from = x + at + call.taps[t];
      HR_UNROLL for (int r = 0; r < kRows; ++r) {
        sums[r] = hn::MulAdd(weight, hn::LoadU(D(), from + r * call.x_row), sums[r]);
      }
    }
    HR_UNROLL for (int r = 0; r < kRows; ++r) {
      auto sum = hn::Add(sums[r], bias);
      if (relu) sum = hn::IfThenZeroElse(hn::Lt(sum, hn::Zero(D())), sum);  // a NaN stays
      lanes.Store(sum, y + r * call.y_row + at);
    }
  }
}

template <typename T>
void Sum(const PlainCall& given, const T* x, const T* weights, const int64_t* order,
         const PlainEnd<T>& end, T* y) {
  const PlainCall call = given;
  int64_t row = 0;
  const auto some = [&]<int kRows>(std::integral_constant<int, kRows>) HWY_ATTR {
    for (; row + kRows <= call.rows; row += kRows) {
      SumRows<T, kRows>(call, x + row * call.x_row, weights, order, end, y + row * call.y_row);
    }
  };
  some(std::integral_constant<int, 8>());
  some(std::integral_constant<int, 4>());
  some(std::integral_constant<int, 1>());
}

template <typename T, int kTaps>
HWY_INLINE void AddTaps(const PlainCall& call, const int64_t* taps, const T* x, const T* dy,
                        T* sums) {
  using D = Tag<T>;
  hn::Vec<D> sum[kTaps];
  HR_UNROLL for (int t = 0; t < kTaps; ++t) sum[t] = hn::Zero(D());
  for (int64_t r = 0; r < call.rows; ++r, x += call.x_row, dy += call.y_row) {
    for (int64_t at = 0; at < call.columns; at += kLanes<T>) {
      const FirstLanes<D> lanes(std::min(call.columns - at, kLanes<T>));
      const auto d = lanes.Load(dy + at);
      // Lanes beyond the row may meet infinite pixels.
      HR_UNROLL for (int t = 0; t < kTaps; ++t) {
        sum[t] = hn::MulAdd(d, lanes.Load(x + at + taps[t]), sum[t]);
      }
    }
  }
  HR_UNROLL for (int t = 0; t < kTaps; ++t) {
    T* const to = sums + t * kLanes<T>;
    hn::StoreU(hn::Add(hn::LoadU(D(), to), sum[t]), D(), to);
  }
}

template <typename T>
void AddWeights(const PlainCall& given, const T* x, const T* dy, T* sums) {
  const PlainCall call = given;
  int64_t tap = 0;
  const auto some = [&]<int kTaps>(std::integral_constant<int, kTaps>) HWY_ATTR {
    for (; tap + kTaps <= call.count; tap += kTaps) {
      AddTaps<T, kTaps>(call, call.taps + tap, x, dy, sums + tap * kLanes<T>);
    }
  };
  some(std::integral_constant<int, 9>());
  some(std::integral_constant<int, 3>());
  some(std::integral_constant<int, 1>());
}

template <typename T>
void SumLanes(const T* sums, int64_t taps, T* to) {
  using D = Tag<T>;
  for (int64_t t = 0; t < taps; ++t)
    to[t] = hn::GetLane(hn::SumOfLanes(D(), hn::LoadU(D(), sums + t * kLanes<T>)));
}

template <typename T>
HWY_INLINE void Split(const T* from, int64_t size, int64_t first, int64_t part, T* to) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  using D = Tag<T>;
  const bool odd = first % 2 != 0;
  T* const low = to + (odd ? part : 0) + first / 2;
  T* const high = to + (odd ? 0 : part) + first / 2 + (odd ? 1 : 0);
  for (; i + 1 < size; i += 2 * kLanes<T>) {
    const int64_t pairs = std::min(kLanes<T>, (size - i) / 2), more = 2 * pairs - kLanes<T>;
    const auto a = FirstLanes<D>(std::min(2 * pairs, kLanes<T>)).Load(from + i);
    const auto b = more > 0 ? FirstLanes<D>(more).Load(from + i + kLanes<T>) : hn::Zero(D());
    const FirstLanes<D> lanes(pairs);
    lanes.Store(hn::ConcatEven(D(), b, a), low + i / 2);
    lanes.Store(hn::ConcatOdd(D(), b, a), high + i / 2);
  }
  i = size / 2 * 2;
#endif
  for (; i < size; ++i) to[(first + i) % 2 * part + (first + i) / 2] = from[i];
}

template <typename T>
void Copy(const PlainCopy& given, const T* from, T* to) {
  using D = Tag<T>;
  const PlainCopy call = given;
  for (int64_t row = 0; row < call.rows; ++row, from += call.from_row, to += call.to_row) {
    for (int64_t i = 0; i < call.columns; i += 64 / static_cast<int64_t>(sizeof(T))) {
      hwy::Prefetch(from + call.ahead + i);
    }
    if (call.step == 2) {
      Split(from, call.columns, call.first, call.part, to);
      continue;
    }
    for (int64_t i = 0; i < call.columns; i += kLanes<T>) {
      const FirstLanes<D> lanes(std::min(call.columns - i, kLanes<T>));
      lanes.Store(lanes.Load(from + i), to + call.first + i);
    }
  }
}

template <typename T>
void Join(const T* even, const T* odd, int64_t pairs, T* to) {
  using D = Tag<T>;
  HWY_ALIGN T both[2 * kLanes<T>];
  for (int64_t i = 0; i < pairs; i += kLanes<T>) {
    const int64_t size = 2 * std::min(kLanes<T>, pairs - i);
    hn::StoreInterleaved2(hn::LoadU(D(), even + i), hn::LoadU(D(), odd + i), D(), both);
    for (int64_t at = 0; at < size; at += kLanes<T>) {
      FirstLanes<D>(std::min(size - at, kLanes<T>))
          .Store(hn::Load(D(), both + at), to + 2 * i + at);
    }
  }
}

template <typename T>
constexpr DepthwisePlainKernels<T> kDepthwisePlain = {kLanes<T>,   Sum<T>,  AddWeights<T>,
                                                      SumLanes<T>, Copy<T>, Join<T>};

}  // namespace

const DepthwisePlainKernels<float>& FloatDepthwisePlain() { return kDepthwisePlain<float>; }
const DepthwisePlainKernels<double>& DoubleDepthwisePlain() { return kDepthwisePlain<double>; }

}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hr::cpu {
namespace {

HWY_EXPORT(FloatDepthwisePlain);
HWY_EXPORT(DoubleDepthwisePlain);

template <typename T>
const DepthwisePlainKernels<T>& KernelsForDepthwisePlain() {
  if constexpr (sizeof(T) == sizeof(float))
    return HWY_DYNAMIC_DISPATCH(FloatDepthwisePlain)();
  else
    return HWY_DYNAMIC_DISPATCH(DoubleDepthwisePlain)();
}

template <typename T>
constexpr int64_t kLine = 64 / sizeof(T);
constexpr size_t kRowsBytes = 16 << 10;  // of copied rows: they stay in L1 beside what is made

// Pixel i of part p is element i * parts.size() + p.
template <typename T>
void Join(const T* parts, int64_t part, int64_t step, int64_t size, T* to) {
  int64_t done = 0;
  if (step == 2) {
    KernelsForDepthwisePlain<T>().join(parts, parts + part, size / 2, to);
    done = size / 2 * 2;
  }
  for (int64_t i = done; i < size; ++i) to[i] = parts[i % step * part + i / step];
}

std::vector<int64_t> OffsetsOf(const PlainRows& rows, const ConvPhase& phase) {
  std::vector<int64_t> offsets;
  for (const int64_t down : phase.gather.rows.taps) {
    for (const int64_t across : phase.gather.columns.taps) {
      offsets.push_back(rows.OffsetOf(down, across));
    }
  }
  return offsets;
}

}  // namespace

// ---- Rows ----

PlainRows::PlainRows(const std::vector<ConvPhase>& phases, int64_t lanes, size_t element)
    : down_(phases.empty() ? GatherAxis() : phases[0].gather.rows),
      across_(phases.empty() ? GatherAxis() : phases[0].gather.columns) {
  // Of the taps of all phases: the first one, and how far they reach.
  const auto reach = [&](GatherAxis Gather::*axis, GatherAxis* most) {
    Range out{0, 0};
    for (const ConvPhase& phase : phases) {
      const GatherAxis& some = phase.gather.*axis;
      most->size = std::max(most->size, some.size);
      for (const int64_t tap : some.taps) {
        out = out.size() == 0 ? Range{tap, tap + 1}
                              : Range{std::min(out.begin, tap), std::max(out.end, tap + 1)};
      }
    }
    return out;
  };
  const Range rows = reach(&Gather::rows, &down_), columns = reach(&Gather::columns, &across_);
  first_row_ = rows.begin, reach_ = rows.size();
  first_column_ = columns.begin;
  columns_ = columns.size() == 0 ? 0 : (across_.size - 1) * across_.step + columns.size();
  part_ = RoundUp(RoundUp(across_.size, lanes) + columns.size() / across_.step, lanes);
  chunk_ = std::max<int64_t>(1, down_.size);
  while (chunk_ > 1 && static_cast<size_t>(elements()) * element > kRowsBytes) {
    chunk_ = CeilDiv(chunk_, 2);
  }
}

int64_t PlainRows::OffsetOf(int64_t down, int64_t across) const {
  const int64_t column = across - first_column_;
  return (down - first_row_) * row() + column % across_.step * part_ + column / across_.step;
}

template <typename T>
void PlainRows::Copy(const T* plane, Range rows, int64_t ahead, T* to) const {
  const int64_t first = std::clamp<int64_t>(first_column_, 0, across_.source);
  const int64_t end = std::clamp<int64_t>(first_column_ + columns_, first, across_.source);
  const Range reads{rows.begin * down_.step + first_row_,
                    rows.begin * down_.step + first_row_ + Reads(rows.size())};
  const Range inside{std::clamp<int64_t>(0, reads.begin, reads.end),
                     std::clamp<int64_t>(down_.source, reads.begin, reads.end)};
  std::fill_n(to, (inside.begin - reads.begin) * row(), T{0});
  T* const at = to + (inside.begin - reads.begin) * row();
  const T* const from = plane + inside.begin * across_.source + first;
  if (across_.step <= 2) {
    KernelsForDepthwisePlain<T>().copy({.rows = inside.size(),
                                        .columns = end - first,
                                        .from_row = across_.source,
                                        .to_row = row(),
                                        .step = across_.step,
                                        .first = first - first_column_,
                                        .part = part_,
                                        .ahead = ahead},
                                       from, at);
  } else {
    for (int64_t y = 0; y < inside.size(); ++y) {
      for (int64_t i = 0; i < end - first; ++i) {
        const int64_t column = first + i - first_column_;
        at[y * row() + column % across_.step * part_ + column / across_.step] =
            from[y * across_.source + i];
      }
    }
  }
  std::fill_n(to + (inside.end - reads.begin) * row(), (reads.end - inside.end) * row(), T{0});
}

// ---- Passes that make an image ----

template <typename T>
DepthwisePlain<T>::DepthwisePlain(const ConvShape& shape, ImagePass pass, int slices)
    : s_(shape),
      slices_(slices),
      rows_(PhasesOf(s_, pass), KernelsForDepthwisePlain<T>().lanes, sizeof(T)) {
  for (ConvPhase& phase : PhasesOf(s_, pass)) {
    std::vector<int64_t> offsets = OffsetsOf(rows_, phase);
    part_ = std::max(part_, RoundUp(phase.gather.columns.size, kLine<T>));
    step_ = phase.column_step;
    phases_.push_back({std::move(phase), std::move(offsets)});
  }
}

template <typename T>
int64_t DepthwisePlain<T>::elements() const {
  return RoundUp(rows_.elements() + (step_ > 1 ? rows_.chunk() * step_ * part_ : 0), kLine<T>);
}

template <typename T>
void DepthwisePlain<T>::Run(const Lease& threads, const T* image, const T* weights, const T* bias,
                            bool relu, T* result, void* scratch) const {
  if (phases_.empty()) return;
  const int64_t from = rows_.plane(), to = phases_[0].height * phases_[0].width;
  const int64_t chunks = rows_.chunks();
  threads.ParallelFor(slices_, [&](int slice) {
    T* const own = static_cast<T*>(scratch) + slice * elements();
    rows_.Clear(own);
    const Range units = PartOf(s_.n * s_.ic * chunks, slices_, slice);
    for (int64_t unit = units.begin; unit < units.end; ++unit) {
      const int64_t plane = unit / chunks, channel = plane % s_.ic;
      const Range rows = rows_.Chunk(unit % chunks);
      rows_.Copy(image + plane * from, rows, from, own);
      RunRows(rows, own, weights + channel * s_.KernelSize(),
              {bias != nullptr ? bias[channel] : T{0}, relu}, result + plane * to);
    }
  });
}

// `own`: the copied rows, and room for pixels of the result that are no neighbours.
template <typename T>
void DepthwisePlain<T>::RunRows(Range rows, T* own, const T* weights, const PlainEnd<T>& end,
                                T* result) const {
  T* const lines = own + rows_.elements();
  for (const Phase& phase : phases_) {
    const int64_t height = std::min(rows.end, phase.gather.rows.size) - rows.begin;
    T* const to = result + (phase.row + rows.begin * phase.row_step) * phase.width;
    const int64_t next = phase.row_step * phase.width;
    KernelsForDepthwisePlain<T>().sum({.rows = height,
                                       .columns = phase.gather.columns.size,
                                       .x_row = rows_.step() * rows_.row(),
                                       .y_row = step_ > 1 ? step_ * part_ : next,
                                       .taps = phase.offsets.data(),
                                       .count = static_cast<int64_t>(phase.offsets.size())},
                                      own, weights, phase.taps.data(), end,
                                      step_ > 1 ? lines + phase.column * part_ : to);
    if (step_ == 1 || phase.column + 1 < std::min(step_, phase.width)) continue;
    for (int64_t row = 0; row < height; ++row) {
      Join(lines + row * step_ * part_, part_, step_, phase.width, to + row * next);
    }
  }
}

template class DepthwisePlain<float>;
template class DepthwisePlain<double>;

// ---- The gradient of the weights ----

template <typename T>
DepthwisePlainWeights<T>::DepthwisePlainWeights(const ConvShape& shape, int slices)
    : s_(shape),
      slices_(slices),
      parts_(std::max<int64_t>(1, std::min(s_.n, slices / std::max<int64_t>(1, s_.ic)))),
      rows_(PhasesOf(s_, ImagePass::kForward), KernelsForDepthwisePlain<T>().lanes, sizeof(T)),
      offsets_(OffsetsOf(rows_, PhasesOf(s_, ImagePass::kForward)[0])) {}

template <typename T>
int64_t DepthwisePlainWeights<T>::elements() const {
  return RoundUp(rows_.elements(), kLine<T>) +
         s_.KernelSize() * RoundUp(KernelsForDepthwisePlain<T>().lanes, kLine<T>);
}

template <typename T>
size_t DepthwisePlainWeights<T>::scratch_bytes() const {
  const int64_t sums = parts_ > 1 ? parts_ * s_.ic * s_.KernelSize() : 0;
  return static_cast<size_t>(slices_ * elements() + sums) * sizeof(T);
}

template <typename T>
void DepthwisePlainWeights<T>::Run(const Lease& threads, const T* x, const T* dy, T* dw,
                                   void* scratch) const {
  T* const own = static_cast<T*>(scratch);
  T* const sums = parts_ > 1 ? own + slices_ * elements() : dw;
  const int64_t taps = s_.KernelSize();
  threads.ParallelFor(slices_, [&](int slice) {
    T* const mine = own + slice * elements();
    rows_.Clear(mine);
    const Range tasks = PartOf(parts_ * s_.ic, slices_, slice);
    for (int64_t task = tasks.begin; task < tasks.end; ++task) {
      SumChannel(task % s_.ic, PartOf(s_.n, parts_, task / s_.ic), x, dy, mine, sums + task * taps);
    }
  });
  if (parts_ > 1) AddParts(sums, s_.ic * taps, parts_, s_.ic * taps, dw);
}

template <typename T>
void DepthwisePlainWeights<T>::SumChannel(int64_t channel, Range images, const T* x, const T* dy,
                                          T* own, T* dw) const {
  const auto& kernels = KernelsForDepthwisePlain<T>();
  T* const sums = own + RoundUp(rows_.elements(), kLine<T>);
  std::fill_n(sums, s_.KernelSize() * kernels.lanes, T{0});
  PlainCall call{.x_row = rows_.step() * rows_.row(),
                 .y_row = s_.ow,
                 .taps = offsets_.data(),
                 .count = s_.KernelSize()};
  // Terms of a lane are pixels of every vector of columns.
  const int64_t width = kMostTermsOfPart * kernels.lanes;
  const int64_t height =
      std::max<int64_t>(1, kMostTermsOfPart / std::max<int64_t>(1, CeilDiv(s_.ow, kernels.lanes)));
  for (int64_t n = images.begin; n < images.end; ++n) {
    const int64_t plane = n * s_.ic + channel;
    for (int64_t chunk = 0; chunk < rows_.chunks(); ++chunk) {
      const Range rows = rows_.Chunk(chunk);
      rows_.Copy(x + plane * rows_.plane(), rows, s_.ic * rows_.plane(), own);
      for (int64_t row = rows.begin; row < rows.end; row += call.rows) {
        call.rows = std::min(rows.end - row, height);
        for (int64_t column = 0; column < s_.ow; column += call.columns) {
          call.columns = std::min(s_.ow - column, width);
          kernels.add_weights(call, own + (row - rows.begin) * call.x_row + column,
                              dy + (plane * s_.oh + row) * s_.ow + column, sums);
        }
      }
    }
  }
  kernels.sum_lanes(sums, s_.KernelSize(), dw);
}

template class DepthwisePlainWeights<float>;
template class DepthwisePlainWeights<double>;

}  // namespace hr::cpu
#endif
