#include "backends/cpu/kernels/grouped_kernels.h"

#include <algorithm>
#include <type_traits>

#include "backends/cpu/kernels/sum_parts.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/grouped_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

#include "backends/cpu/kernels/conv_end-inl.h"
#include "backends/cpu/kernels/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hr::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
// Of this file: another may use the same names.
namespace {

template <typename T>
using Tag = hn::ScalableTag<T>;
template <typename T>
constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(T));

// Sums leave registers for the weights and for a term.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr int kTiles[2][GroupedKernels<float>::kTiles] = {{16, 12, 8, 4}, {12, 8, 6, 4}};
#else
constexpr int kTiles[2][GroupedKernels<float>::kTiles] = {{12, 8, 6, 4}, {6, 4, 3, 2}};
#endif

// One loop for tiles of all sizes: they would be three times as long with what an epilogue may do.
template <typename T>
HWY_NOINLINE void Finish(const GroupedCall<T>& call, const ConvEpilogue<T>& epilogue, T* y) {
  ForVectors<Tag<T>>(call.lanes, [&](int64_t c, const auto& lanes) HWY_ATTR {
    const ConvEnd end(epilogue, lanes, c);
    for (int64_t at = 0; at < call.pixels * call.y_pixel; at += call.y_pixel) {
      lanes.Store(end.Of(lanes.Load(y + c + at), at), y + c + at);
    }
  });
}

template <typename T, bool kSpread, int kPixels, int kVectors>
void Sum(const GroupedCall<T>& given, const T* x, const ConvEpilogue<T>& epilogue, T* y) {
  using D = Tag<T>;
  const GroupedCall<T> call = given;
  hn::Vec<D> sums[kPixels][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kPixels; ++i) {
    for (int v = 0; v < kVectors; ++v) sums[i][v] = hn::Zero(D());
  }
  // The sums of the parts before this one.
  HWY_ALIGN T parts[kPixels][kVectors][kLanes<T>];
  bool cut = false;
  int64_t rest = static_cast<int64_t>(call.lines->size()) * call.terms;
  int64_t room = TermsOfPart(rest);
  const T* w = call.weights;
  for (const int64_t line : *call.lines) {
    const T* from = x + line;
    for (int64_t left = call.terms; left > 0;) {
      const int64_t terms = std::min(left, room);
      left -= terms, room -= terms, rest -= terms;
      for (int64_t term = 0; term < terms; ++term, w += call.width) {
        hn::Vec<D> weights[kVectors];
        for (int v = 0; v < kVectors; ++v) weights[v] = hn::LoadU(D(), w + v * kLanes<T>);
#pragma GCC unroll 16
        for (int i = 0; i < kPixels; ++i) {
          const T* const at = from + i * call.x_pixel;
          const auto pixel = kSpread ? hn::LoadU(D(), at) : hn::Set(D(), *at);
          for (int v = 0; v < kVectors; ++v) sums[i][v] = hn::MulAdd(pixel, weights[v], sums[i][v]);
        }
        from += kSpread ? kLanes<T> : 1;
      }
      if (room > 0 || rest == 0) continue;
#pragma GCC unroll 16
      for (int i = 0; i < kPixels; ++i) {
        for (int v = 0; v < kVectors; ++v) {
          T* const to = parts[i][v];
          hn::Store(cut ? hn::Add(hn::Load(D(), to), sums[i][v]) : sums[i][v], D(), to);
          sums[i][v] = hn::Zero(D());
        }
      }
      cut = true;
      room = TermsOfPart(rest);
    }
  }
  if (cut) {
#pragma GCC unroll 16
    for (int i = 0; i < kPixels; ++i) {
      for (int v = 0; v < kVectors; ++v) {
        sums[i][v] = hn::Add(hn::Load(D(), parts[i][v]), sums[i][v]);
      }
    }
  }
  constexpr int64_t kLast = (kVectors - 1) * kLanes<T>;
  const PartialVector<D> last(call.lanes - kLast);
#pragma GCC unroll 16
  for (int i = 0; i < kPixels; ++i) {
    if (i >= call.pixels) break;
    T* const to = y + i * call.y_pixel;
    if constexpr (kVectors == 2) hn::StoreU(sums[i][0], D(), to);
    last.Store(sums[i][kVectors - 1], to + kLast);
  }
  if (!epilogue.IsNone()) Finish(call, epilogue, y);
}

template <typename T, int kTerms, int kVectors>
void AddWeights(const GroupedWeightsCall& given, const T* x, const T* dy, int64_t count, T* sums) {
  using D = Tag<T>;
  const GroupedWeightsCall call = given;
  constexpr int64_t kLast = (kVectors - 1) * kLanes<T>;
  const PartialVector<D> last(call.lanes - kLast);
  hn::Vec<D> sum[kTerms][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kTerms; ++i) {
    for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::Zero(D());
  }
  for (int64_t r = 0; r < call.rows; ++r) {
    const T* from = x + r * call.x_row;
    const T* gradient = dy + r * call.dy_row;
    for (int64_t j = 0; j < call.columns; ++j) {
      hn::Vec<D> d[kVectors];
      if constexpr (kVectors == 2) d[0] = hn::LoadU(D(), gradient);
      d[kVectors - 1] = last.Load(gradient + kLast);
#pragma GCC unroll 16
      for (int i = 0; i < kTerms; ++i) {
        const auto term = hn::Set(D(), from[i]);
        for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::MulAdd(term, d[v], sum[i][v]);
      }
      from += call.x_column, gradient += call.dy_column;
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kTerms; ++i) {
    if (i >= count) return;
    for (int v = 0; v < kVectors; ++v) {
      T* const to = sums + i * call.width + v * kLanes<T>;
      hn::StoreU(hn::Add(hn::LoadU(D(), to), sum[i][v]), D(), to);
    }
  }
}

template <typename T, int kTerms>
void AddSpreadWeights(const GroupedWeightsCall& given, const T* x, const T* dy, const TermRun* runs,
                      T* sums) {
  using D = Tag<T>;
  constexpr int kRuns = GroupedKernels<T>::kRuns;
  const GroupedWeightsCall call = given;
  const PartialVector<D> lanes(call.lanes);
  hn::Vec<D> sum[kRuns][kTerms];
  const T* run[kRuns];
#pragma GCC unroll 3
  for (int k = 0; k < kRuns; ++k) {
    run[k] = x + runs[k].offset;
    for (int i = 0; i < kTerms; ++i) sum[k][i] = hn::Zero(D());
  }
  for (int64_t r = 0; r < call.rows; ++r) {
    const T* gradient = dy + r * call.dy_row;
    int64_t at = r * call.x_row;
    for (int64_t j = 0; j < call.columns; ++j) {
      const auto d = lanes.Load(gradient);
#pragma GCC unroll 3
      for (int k = 0; k < kRuns; ++k) {
#pragma GCC unroll 5
        for (int i = 0; i < kTerms; ++i) {
          sum[k][i] = hn::MulAdd(hn::LoadU(D(), run[k] + at + i * kLanes<T>), d, sum[k][i]);
        }
      }
      at += call.x_column, gradient += call.dy_column;
    }
  }
#pragma GCC unroll 3
  for (int k = 0; k < kRuns; ++k) {
#pragma GCC unroll 5
    for (int i = 0; i < kTerms; ++i) {
      T* const to = sums + (runs[k].first + i) * kLanes<T>;
      if (i < runs[k].count) hn::StoreU(hn::Add(hn::LoadU(D(), to), sum[k][i]), D(), to);
    }
  }
}

template <typename T>
void Spread(int64_t channels, const LaneSource<T>* begin, const LaneSource<T>* end, const T* x,
            int64_t pixel, int64_t pixels, T* to) {
  using D = Tag<T>;
  using Index = LaneSource<T>;
  const hn::RebindToSigned<D> integers;
  const bool one = channels <= kLanes<T>, two = channels <= 2 * kLanes<T>;
  const PartialVector<D> low(one ? channels : kLanes<T>);
  const PartialVector<D> high(two && !one ? channels - kLanes<T> : 1);
  for (int64_t i = 0; i < pixels; ++i, x += pixel) {
    const auto a = low.Load(x), b = one ? a : high.Load(x + kLanes<T>);
    for (const Index* term = begin; term != end; term += kLanes<T>, to += kLanes<T>) {
      if (one) {
        hn::StoreU(hn::TableLookupLanes(a, hn::SetTableIndices(D(), term)), D(), to);
      } else if (two) {
        const auto source = hn::LoadU(integers, term), lanes = hn::Set(integers, kLanes<T>);
        const auto is_low = hn::RebindMask(D(), hn::Lt(source, lanes));
        const auto at = hn::IndicesFromVec(D(), hn::And(source, hn::Set(integers, kLanes<T> - 1)));
        hn::StoreU(hn::IfThenElse(is_low, hn::TableLookupLanes(a, at), hn::TableLookupLanes(b, at)),
                   D(), to);
      } else {
        hn::StoreU(hn::GatherIndex(D(), x, hn::LoadU(integers, term)), D(), to);
      }
    }
  }
}

template <typename T, int... kTile, int... kTerms>
constexpr GroupedKernels<T> MakeTable(std::integer_sequence<int, kTile...>,
                                      std::integer_sequence<int, kTerms...>) {
  return {.lanes = kLanes<T>,
          .tile = {{kTiles[0][kTile]...}, {kTiles[1][kTile]...}},
          .sum = {{Sum<T, false, kTiles[0][kTile], 1>...}, {Sum<T, false, kTiles[1][kTile], 2>...}},
          .sum_spread = {Sum<T, true, kTiles[0][kTile], 1>...},
          .add_weights = {{AddWeights<T, kTiles[0][kTile], 1>...},
                          {AddWeights<T, kTiles[1][kTile], 2>...}},
          .add_spread_weights = {AddSpreadWeights<T, kTerms + 1>...},
          .spread = Spread<T>};
}

template <typename T>
constexpr GroupedKernels<T> kGrouped =
    MakeTable<T>(std::make_integer_sequence<int, GroupedKernels<T>::kTiles>(),
                 std::make_integer_sequence<int, GroupedKernels<T>::kMostOfRun>());

}  // namespace

const GroupedKernels<float>& FloatGrouped() { return kGrouped<float>; }
const GroupedKernels<double>& DoubleGrouped() { return kGrouped<double>; }

}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hr::cpu {

HWY_EXPORT(FloatGrouped);
HWY_EXPORT(DoubleGrouped);

template <>
const GroupedKernels<float>& KernelsForGrouped() {
  return HWY_DYNAMIC_DISPATCH(FloatGrouped)();
}
template <>
const GroupedKernels<double>& KernelsForGrouped() {
  return HWY_DYNAMIC_DISPATCH(DoubleGrouped)();
}

}  // namespace hr::cpu
#endif
