#include "backends/cpu/kernels/gemm_kernels.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "backends/cpu/kernels/sum_parts.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/gemm_kernels.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backends/cpu/kernels/conv_end-inl.h"
#include "backends/cpu/kernels/partial-inl.h"
#include "backends/cpu/kernels/transpose-inl.h"
#include "backends/cpu/kernels/vector_value-inl.h"
#if HWY_ARCH_X86
#include "backends/cpu/kernels/transpose_lanes.h"
#endif

HWY_BEFORE_NAMESPACE();
namespace hr::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Accumulators are rows x 2 vectors and must leave registers for two of B and one of A.
#if HWY_TARGET == HWY_AVX2
constexpr int kRows = 6;
#elif HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
constexpr int kRows = 4;
#else
constexpr int kRows = 12;
#endif
constexpr int kFourRows = kRows == 12 ? 6 : kRows == 6 ? 2 : 1;  // of tiles of four vectors
constexpr int kEightRows = kRows == 12 ? 3 : 1;

// Stores a tile's sums after what a convolution does to them.
template <typename T, int kTileRows, int kVectors>
HWY_INLINE void FinishTile(const TileCall<T>& call, bool accumulate,
                           const PartialVector<Tag<T>>& last,
                           const hn::Vec<Tag<T>> (&sums)[kTileRows][kVectors]) {
  const ConvEpilogue<T> epilogue = *call.end;
  const auto finish = [&](int v, const auto& lanes) HWY_ATTR {
    const ConvEnd end(epilogue, lanes, v * kLanes<T>);
    T* const c = call.c + v * kLanes<T>;
    const int64_t ldc = call.ldc;
#pragma GCC unroll 12
    for (int i = 0; i < kTileRows; ++i) {
      T* const to = c + i * ldc;
      const auto sum = accumulate ? hn::Add(sums[i][v], lanes.Load(to)) : sums[i][v];
      lanes.Store(end.Of(sum, i * ldc), to);
    }
  };
  if constexpr (kVectors == 2) finish(0, WholeLanes<Tag<T>>());
  if (call.columns == kVectors * kLanes<T>) return finish(kVectors - 1, WholeLanes<Tag<T>>());
  finish(kVectors - 1, last);
}

template <typename T, int kTileRows, int kVectors, bool kRowsContiguous>
void MultiplyTile(const TileCall<T>& call) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  constexpr int kFull = kVectors - 1;
  const PartialVector<Tag<T>> last(call.columns - kFull * kLanes<T>);
  V sums[kTileRows][kVectors];
  const T* a = call.a;
  const T* b = call.b;
  const bool elsewhere = call.ahead != nullptr;
  const T* ahead = elsewhere ? call.ahead : b + call.b_ahead;
  const int64_t ahead_step = elsewhere ? call.ahead_step : call.ldb;
  const int64_t row_step = kRowsContiguous ? 1 : call.a_stride;
  const int64_t k_step = kRowsContiguous ? call.a_stride : 1;
  const auto step = [&](const auto& load_last) HWY_ATTR {
    V columns[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) hwy::Prefetch(ahead + v * kLanes<T>);
#pragma GCC unroll 8
    for (int v = 0; v < kFull; ++v) columns[v] = hn::LoadU(d, b + v * kLanes<T>);
    columns[kFull] = load_last(b + kFull * kLanes<T>);
#pragma GCC unroll 12
    for (int i = 0; i < kTileRows; ++i) {
      const V row = hn::Set(d, a[i * row_step]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[i][v] = hn::MulAdd(row, columns[v], sums[i][v]);
    }
    a += k_step;
    b += call.ldb;
    ahead += ahead_step;
  };
  bool accumulate = call.accumulate;
  for (int64_t left = call.k;; accumulate = true) {
    int64_t k = TermsOfPart(left);
    left -= k;
#pragma GCC unroll 12
    for (int i = 0; i < kTileRows; ++i) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[i][v] = hn::Zero(d);
    }
    // Multiply-adds limit large tiles: a load under a mask takes one of their ports, and so do many
    // of the instructions of the loop itself.
    if (kTileRows * kVectors > kRows && call.columns == kVectors * kLanes<T>) {
      const auto load = [&](const T* from) HWY_ATTR { return hn::LoadU(d, from); };
      for (; k > 1; k -= 2) {
        step(load);
        step(load);
      }
    }
    for (; k > 0; --k) step([&](const T* from) HWY_ATTR { return last.Load(from); });
    if constexpr (kVectors <= 2 && !kRowsContiguous) {
      if (call.end != nullptr && left <= 0) {
        return FinishTile<T, kTileRows, kVectors>(call, accumulate, last, sums);
      }
    }
    T* c = call.c;
#pragma GCC unroll 12
    for (int i = 0; i < kTileRows; ++i) {
#pragma GCC unroll 8
      for (int v = 0; v < kFull; ++v) {
        T* to = c + v * kLanes<T>;
        hn::StoreU(accumulate ? hn::Add(sums[i][v], hn::LoadU(d, to)) : sums[i][v], d, to);
      }
      T* to = c + kFull * kLanes<T>;
      last.Store(accumulate ? hn::Add(sums[i][kFull], last.Load(to)) : sums[i][kFull], to);
      c += call.ldc;
    }
    if (left <= 0) return;
  }
}

constexpr int DotColumns(int rows) { return rows <= 1 ? 8 : 4; }

template <typename T, int kTileRows>
void Dot(const TileCall<T>& call) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  constexpr int kColumns = DotColumns(kTileRows);
  constexpr int64_t kAhead = 512 / sizeof(T);
  const T* columns[kColumns];  // what lies beyond the last column repeats it
  for (int j = 0; j < kColumns; ++j) {
    columns[j] = call.b + std::min<int64_t>(j, call.columns - 1) * call.ldb;
  }
  V sums[kTileRows][kColumns];
  // The sums of the parts before this one.
  HWY_ALIGN T parts[kTileRows][kColumns][kLanes<T>];
  int64_t k = 0;
  const auto add = [&](auto load) HWY_ATTR {
    V row[kTileRows];
#pragma GCC unroll 4
    for (int i = 0; i < kTileRows; ++i) row[i] = load(call.a + i * call.a_stride + k);
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) {
      const V column = load(columns[j] + k);
#pragma GCC unroll 4
      for (int i = 0; i < kTileRows; ++i) sums[i][j] = hn::MulAdd(row[i], column, sums[i][j]);
    }
  };
  for (bool first = true;; first = false) {
    const int64_t end = k + TermsOfPart((call.k - k) / kLanes<T> + 1) * kLanes<T>;
#pragma GCC unroll 4
    for (int i = 0; i < kTileRows; ++i) {
#pragma GCC unroll 8
      for (int j = 0; j < kColumns; ++j) sums[i][j] = hn::Zero(d);
    }
    for (; k + kLanes<T> <= std::min(end, call.k); k += kLanes<T>) {
#pragma GCC unroll 8
      for (int j = 0; j < kColumns; ++j) hwy::Prefetch(columns[j] + k + kAhead);
      add([&](const T* from) HWY_ATTR { return hn::LoadU(d, from); });
    }
    if (end >= call.k && k < call.k) {
      const PartialVector<Tag<T>> rest(call.k - k);
      add([&](const T* from) HWY_ATTR { return rest.Load(from); });
    }
    if (first && end >= call.k) break;
#pragma GCC unroll 4
    for (int i = 0; i < kTileRows; ++i) {
#pragma GCC unroll 8
      for (int j = 0; j < kColumns; ++j) {
        if (!first) sums[i][j] = hn::Add(hn::Load(d, parts[i][j]), sums[i][j]);
        hn::Store(sums[i][j], d, parts[i][j]);
      }
    }
    if (end >= call.k) break;
  }
#pragma GCC unroll 4
  for (int i = 0; i < kTileRows; ++i) {
    T* c = call.c + i * call.ldc;
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) {
      const T sum = hn::GetLane(hn::SumOfLanes(d, sums[i][j]));
      if (j < call.columns) c[j] = call.accumulate ? c[j] + sum : sum;
    }
  }
}

template <typename T>
void TransposeBlocks(const T* from, int64_t stride, int64_t count, int64_t k, T* to,
                     int64_t distance) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  const int64_t whole_k = k - k % kBlock<T>, whole_count = count - count % kBlock<T>;
  // As many rows of `to` at once as share lines of `from`, which may fall on the same few lines of
  // the cache; unless rows of `to` do.
  const int64_t at_once = distance * kSize % 1024 == 0 ? kBlock<T> : 64 / kSize;
  for (int64_t first = 0; first < whole_k; first += at_once) {
    const int64_t end = std::min(whole_k, first + at_once);
    for (int64_t j = 0; j < whole_count; j += kBlock<T>) {
      for (int64_t i = first; i < end; i += kBlock<T>) {
        const T* rows[kBlock<T>];
        T* columns[kBlock<T>];
        for (int64_t b = 0; b < kBlock<T>; ++b) {
          rows[b] = from + (j + b) * stride + i;
          columns[b] = to + (i + b) * distance + j;
        }
        TransposeBlock(rows, columns);
      }
    }
  }
  for (int64_t i = 0; i < k; ++i) {
    T* row = to + i * distance;
    for (int64_t j = i < whole_k ? whole_count : 0; j < count; ++j) row[j] = from[j * stride + i];
  }
}

// Blocks of whole lines of the cache first, where registers hold one.
template <typename T>
void Transpose(const T* from, int64_t stride, int64_t count, int64_t k, T* to, int64_t distance) {
  int64_t lines_k = 0;
#if HWY_TARGET <= HWY_AVX3
  if constexpr (std::is_same_v<T, float>) {
    constexpr int64_t kLanesOfLine = 16, kSize = sizeof(T);
    lines_k = k - k % kLanesOfLine;
    const int64_t lines_count = count - count % kLanesOfLine;
    for (int64_t i = 0; i < lines_k; i += kLanesOfLine) {
      for (int64_t j = 0; j < lines_count; j += kLanesOfLine) {
        TransposeLanes(from + j * stride + i, stride * kSize, to + i * distance + j,
                       distance * kSize);
      }
    }
    TransposeBlocks(from + lines_count * stride, stride, count - lines_count, lines_k,
                    to + lines_count, distance);
  }
#endif
  TransposeBlocks(from + lines_k, stride, count, k - lines_k, to + lines_k * distance, distance);
}

template <typename T>
void PackTransposed(const T* from, int64_t stride, int64_t count, int64_t k, T* to, int64_t width) {
  Transpose(from, stride, count, k, to, width);
  for (int64_t i = 0; i < k; ++i) std::fill(to + i * width + count, to + (i + 1) * width, T{0});
}

template <typename T>
void PackRows(const T* from, int64_t stride, int64_t count, int64_t k, T* to, int64_t width) {
  const Tag<T> d;
  const int64_t whole = count - count % kLanes<T>;
  for (int64_t i = 0; i < k; ++i, from += stride, to += width) {
    for (int64_t j = 0; j < whole; j += kLanes<T>) hn::StoreU(hn::LoadU(d, from + j), d, to + j);
    for (int64_t j = whole; j < count; ++j) to[j] = from[j];
    for (int64_t j = count; j < width; ++j) to[j] = 0;
  }
}

template <typename T>
hn::Vec<Tag<T>> Activated(Activation activation, hn::Vec<Tag<T>> x) {
  const Tag<T> d;
  switch (activation) {
    case Activation::kNone: break;
    // A NaN stays: the comparison is false for it.
    case Activation::kRelu: return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x);
    case Activation::kGelu: return Gelu(VectorValue<T>{x}).v;
  }
  return x;
}

template <typename T>
void Finish(const FinishCall<T>& call) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  const GemmEpilogue<T>& epilogue = call.epilogue;
  const V alpha = hn::Set(d, epilogue.alpha), beta = hn::Set(d, epilogue.beta);
  const int64_t whole = call.columns - call.columns % kLanes<T>;
  for (int64_t i = 0; i < call.rows; ++i) {
    const T* tile = call.tile + i * call.tile_stride;
    T* c = call.c + i * call.ldc;
    const V row_bias = hn::Set(d, epilogue.row_bias ? epilogue.row_bias[i] : T{0});
    const auto finish = [&](int64_t j, auto load) HWY_ATTR {
      V value = hn::MulAdd(alpha, load(tile + j), row_bias);
      if (epilogue.beta != 0) value = hn::MulAdd(beta, load(c + j), value);
      if (epilogue.column_bias) value = hn::Add(value, load(epilogue.column_bias + j));
      return Activated<T>(epilogue.activation, value);
    };
    for (int64_t j = 0; j < whole; j += kLanes<T>) {
      hn::StoreU(finish(j, [&](const T* from) HWY_ATTR { return hn::LoadU(d, from); }), d, c + j);
    }
    if (whole < call.columns) {
      const PartialVector<Tag<T>> rest(call.columns - whole);
      rest.Store(finish(whole, [&](const T* from) HWY_ATTR { return rest.Load(from); }), c + whole);
    }
  }
}

template <typename T>
void AddTo(const T* from, int64_t count, T* to) {
  for (int64_t i = 0; i < count; ++i) to[i] += from[i];
}

template <typename T, int kVectors, bool kRowsContiguous, int... kIndex>
constexpr void FillTiles(typename GemmKernels<T>::TileKernel* tiles,
                         std::integer_sequence<int, kIndex...>) {
  ((tiles[kIndex] = MultiplyTile<T, kIndex + 1, kVectors, kRowsContiguous>), ...);
}

template <typename T, int kVectors, int kTileRows>
constexpr void FillWidth(GemmKernels<T>& kernels, int width) {
  constexpr std::make_integer_sequence<int, kTileRows> rows;
  FillTiles<T, kVectors, false>(kernels.tile[0][width], rows);
  FillTiles<T, kVectors, true>(kernels.tile[1][width], rows);
  kernels.wide_rows[width] = kTileRows;
}

template <typename T>
constexpr GemmKernels<T> MakeKernels() {
  GemmKernels<T> kernels{};
  kernels.lanes = static_cast<int>(kLanes<T>);
  kernels.rows = kRows;
  FillWidth<T, 1, kRows>(kernels, GemmKernels<T>::kOneVector);
  FillWidth<T, 2, kRows>(kernels, GemmKernels<T>::kTwoVectors);
  FillWidth<T, 4, kFourRows>(kernels, GemmKernels<T>::kFourVectors);
  FillWidth<T, 8, kEightRows>(kernels, GemmKernels<T>::kEightVectors);
  kernels.dot[0] = Dot<T, 1>;
  kernels.dot[1] = Dot<T, 2>;
  kernels.dot[2] = Dot<T, 3>;
  kernels.dot[3] = Dot<T, 4>;
  for (int rows = 1; rows <= 4; ++rows) kernels.dot_columns[rows - 1] = DotColumns(rows);
  kernels.transpose = Transpose<T>;
  kernels.pack_transposed = PackTransposed<T>;
  kernels.pack_rows = PackRows<T>;
  kernels.finish = Finish<T>;
  kernels.add = AddTo<T>;
  return kernels;
}

const GemmKernels<float>& FloatKernels() {
  static constexpr GemmKernels<float> kernels = MakeKernels<float>();
  return kernels;
}

const GemmKernels<double>& DoubleKernels() {
  static constexpr GemmKernels<double> kernels = MakeKernels<double>();
  return kernels;
}

}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hr::cpu {

HWY_EXPORT(FloatKernels);
HWY_EXPORT(DoubleKernels);

template <>
const GemmKernels<float>& KernelsForGemm() {
  return HWY_DYNAMIC_DISPATCH(FloatKernels)();
}
template <>
const GemmKernels<double>& KernelsForGemm() {
  return HWY_DYNAMIC_DISPATCH(DoubleKernels)();
}

}  // namespace hr::cpu
#endif
