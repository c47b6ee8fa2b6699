#include "backends/cpu/kernels/conv_few_channels.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/conv_few_channels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

#include "backends/cpu/kernels/conv_end-inl.h"
#include "backends/cpu/kernels/partial-inl.h"

#if !defined(HR_CPU_FEW_CHANNELS_KERNELS)
#define HR_CPU_FEW_CHANNELS_KERNELS
namespace hr::cpu {

// Neighbouring pixels of a panel's lanes.
template <typename T>
struct FewChannelsCall {
  int64_t pixels;  // at most as many as the tile; what it reads for others has no meaning
  int64_t lanes;
  int64_t terms;
  const int64_t* offsets;
  int64_t step;      // of what is read
  const T* weights;  // [term][width]
  int64_t width;
  int64_t y_pixel;
};

template <typename T>
struct FewChannelsKernels {
  int64_t lanes;      // of a vector
  int64_t pixels[2];  // of a tile, the larger one first
  // [tile][vectors - 1]
  void (*tile[2][2])(const FewChannelsCall<T>& call, const T* x, const ConvEpilogue<T>& epilogue,
                     T* y);
};

}  // namespace hr::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace hr::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
// Of this file: another may use the same names.
namespace {

// Accumulators of two vectors each leave registers for two of weights and one of x.
#if HWY_TARGET == HWY_AVX2
constexpr int kTilePixels = 6;
#elif HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
constexpr int kTilePixels = 4;
#else
constexpr int kTilePixels = 12;
#endif

template <typename T, int kPixels, int kVectors>
void Tile(const FewChannelsCall<T>& given, const T* x, const ConvEpilogue<T>& epilogue, T* y) {
  using D = hn::ScalableTag<T>;
  constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(T));
  const FewChannelsCall<T> call = given;
  hn::Vec<D> sums[kPixels][kVectors];
#pragma GCC unroll 12
  for (int i = 0; i < kPixels; ++i) {
    for (int v = 0; v < kVectors; ++v) sums[i][v] = hn::Zero(D());
  }
  const T* w = call.weights;
  for (int64_t term = 0; term < call.terms; ++term, w += call.width) {
    hn::Vec<D> weights[kVectors];
    for (int v = 0; v < kVectors; ++v) weights[v] = hn::LoadU(D(), w + v * kLanes);
    const T* const from = x + call.offsets[term];
#pragma GCC unroll 12
    for (int i = 0; i < kPixels; ++i) {
      const auto pixel = hn::Set(D(), from[i * call.step]);
      for (int v = 0; v < kVectors; ++v) sums[i][v] = hn::MulAdd(pixel, weights[v], sums[i][v]);
    }
  }
  const FirstLanes<D> last(call.lanes - (kVectors - 1) * kLanes);
  const ConvEnd end(epilogue, last, (kVectors - 1) * kLanes);
  const WholeLanes<D> whole;
  // Of a single vector this is the same one, without a use.
  const ConvEnd<T, WholeLanes<D>> first(kVectors == 2 ? epilogue : ConvEpilogue<T>(), whole, 0);
#pragma GCC unroll 12
  for (int i = 0; i < kPixels; ++i) {
    if (i >= call.pixels) return;
    const int64_t at = i * call.y_pixel;
    if constexpr (kVectors == 2) whole.Store(first.Of(sums[i][0], at), y + at);
    last.Store(end.Of(sums[i][kVectors - 1], at), y + at + (kVectors - 1) * kLanes);
  }
}

template <typename T>
constexpr FewChannelsKernels<T> kFewChannels = {
    static_cast<int64_t>(HWY_LANES(T)),
    {kTilePixels, kTilePixels / 2},
    {{Tile<T, kTilePixels, 1>, Tile<T, kTilePixels, 2>},
     {Tile<T, kTilePixels / 2, 1>, Tile<T, kTilePixels / 2, 2>}}};

}  // namespace

const FewChannelsKernels<float>& FloatFewChannels() { return kFewChannels<float>; }
const FewChannelsKernels<double>& DoubleFewChannels() { return kFewChannels<double>; }

}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hr::cpu {
namespace {

HWY_EXPORT(FloatFewChannels);
HWY_EXPORT(DoubleFewChannels);

template <typename T>
const FewChannelsKernels<T>& KernelsForFewChannels() {
  if constexpr (sizeof(T) == sizeof(float))
    return HWY_DYNAMIC_DISPATCH(FloatFewChannels)();
  else
    return HWY_DYNAMIC_DISPATCH(DoubleFewChannels)();
}

constexpr int64_t kLine = 64;  // bytes

int64_t TapOf(const GatherAxis& axis, int64_t t) { return axis.taps[static_cast<size_t>(t)]; }

// `count` elements, of which those in [from, from + there) are given.
template <typename T>
void CopyPadded(const T* given, int64_t from, int64_t there, int64_t count, T* to) {
  std::fill_n(to, from, T{0});
  std::copy_n(given, there, to + from);
  std::fill_n(to + from + there, count - from - there, T{0});
}

}  // namespace

template <typename T>
ConvFewChannels<T>::ConvFewChannels(const ConvShape& shape, bool channels_last, bool packed,
                                    int slices)
    : s_(shape),
      channels_last_(channels_last),
      packed_(packed),
      slices_(slices),
      gather_(PhasesOf(shape, ImagePass::kForward)[0].gather) {
  const auto& kernels = KernelsForFewChannels<T>();
  width_ = s_.oc <= kernels.lanes ? kernels.lanes : 2 * kernels.lanes;
  const GatherAxis& columns = gather_.columns;
  const int64_t pixel = channels_last_ ? s_.ic : 1;
  step_ = columns.step * pixel;
  const int64_t reach = TapOf(columns, s_.kw - 1) - TapOf(columns, 0) + 1;
  line_ = ((RoundUp(s_.ow, kernels.pixels[0]) - 1) * columns.step + reach) * pixel;
  lines_ = channels_last_ ? s_.kh : s_.ic * s_.kh;
  for (int64_t r = 0; r < s_.kh; ++r) {
    for (int64_t t = 0; t < s_.kw; ++t) {
      const int64_t column = (TapOf(columns, t) - TapOf(columns, 0)) * pixel;
      for (int64_t c = 0; c < s_.ic; ++c) {
        const int64_t line = channels_last_ ? r : c * s_.kh + r;
        offsets_.push_back(line * line_ + column + (channels_last_ ? c : 0));
      }
    }
  }
}

template <typename T>
size_t ConvFewChannels<T>::packed_bytes() const {
  return static_cast<size_t>(panels() * width_ * terms()) * sizeof(T);
}

template <typename T>
std::string ConvFewChannels<T>::packed_format() const {
  return Cat("few channels ", WeightsText(s_), " panels of ", width_);
}

template <typename T>
void ConvFewChannels<T>::Pack(const Lease&, const T* weights, T* packed) const {
  const int64_t taps = s_.KernelSize();
  for (int64_t panel = 0; panel < panels(); ++panel) {
    for (int64_t term = 0; term < terms(); ++term) {
      const int64_t tap = term / s_.ic, channel = term % s_.ic;
      for (int64_t l = 0; l < width_; ++l, ++packed) {
        const int64_t oc = panel * width_ + l;
        *packed = oc < s_.oc ? weights[(oc * s_.ic + channel) * taps + tap] : T{0};
      }
    }
  }
}

template <typename T>
size_t ConvFewChannels<T>::scratch_bytes() const {
  const int64_t lines = RoundUp(LinesElements() * static_cast<int64_t>(sizeof(T)), kLine);
  return static_cast<size_t>(slices_ * lines) + (packed_ ? 0 : packed_bytes());
}

template <typename T>
void ConvFewChannels<T>::CopyLines(const T* image, int64_t row, T* to) const {
  const int64_t n = row / s_.oh, first = TapOf(gather_.columns, 0);
  const int64_t pixel = channels_last_ ? s_.ic : 1, planes = channels_last_ ? 1 : s_.ic;
  // The part of a line that the image has.
  const int64_t from = std::min(line_, std::max<int64_t>(0, -first) * pixel);
  const int64_t skipped = std::max<int64_t>(0, first);
  const int64_t there = std::clamp<int64_t>((s_.iw - skipped) * pixel, 0, line_ - from);
  for (int64_t plane = 0; plane < planes; ++plane) {
    const T* const whole = image + (n * planes + plane) * s_.ih * s_.iw * pixel;
    for (int64_t r = 0; r < s_.kh; ++r, to += line_) {
      const int64_t y = row % s_.oh * gather_.rows.step + TapOf(gather_.rows, r);
      if (y < 0 || y >= s_.ih) {
        std::fill_n(to, line_, T{0});
      } else {
        CopyPadded(whole + (y * s_.iw + skipped) * pixel, from, there, line_, to);
      }
    }
  }
}

template <typename T>
void ConvFewChannels<T>::RunRow(const ConvImageMemory<T>& memory, const T* weights, int64_t row,
                                const T* lines) const {
  const auto& kernels = KernelsForFewChannels<T>();
  for (int64_t column = 0; column < s_.ow;) {
    const int64_t left = s_.ow - column;
    const int tile = left <= kernels.pixels[1] ? 1 : 0;
    const int64_t pixels = std::min(left, kernels.pixels[tile]);
    for (int64_t panel = 0; panel < panels(); ++panel) {
      const int64_t lane = panel * width_, at = (row * s_.ow + column) * s_.oc;
      const FewChannelsCall<T> call{.pixels = pixels,
                                    .lanes = std::min(width_, s_.oc - lane),
                                    .terms = terms(),
                                    .offsets = offsets_.data(),
                                    .step = step_,
                                    .weights = weights + lane * terms(),
                                    .width = width_,
                                    .y_pixel = s_.oc};
      ConvEpilogue<T> epilogue = memory.epilogue;
      MoveTo(&epilogue, lane, at);
      kernels.tile[tile][call.lanes > kernels.lanes ? 1 : 0](call, lines + column * step_, epilogue,
                                                             memory.result + at + lane);
    }
    column += pixels;
  }
}

template <typename T>
void ConvFewChannels<T>::Run(const Lease& threads, const ConvImageMemory<T>& memory,
                             void* scratch) const {
  T* lines = static_cast<T*>(scratch);
  const T* weights = memory.weights;
  if (!packed_) {
    Pack(threads, memory.weights, lines);
    weights = lines;
    lines += packed_bytes() / sizeof(T);
  }
  const int64_t each = RoundUp(LinesElements(), kLine / static_cast<int64_t>(sizeof(T)));
  threads.ParallelFor(slices_, [&](int slice) {
    const Range rows = PartOf(s_.n * s_.oh, slices_, slice);
    T* const mine = lines + slice * each;
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      CopyLines(memory.image, row, mine);
      RunRow(memory, weights, row, mine);
    }
  });
}

template class ConvFewChannels<float>;
template class ConvFewChannels<double>;

}  // namespace hr::cpu
#endif
