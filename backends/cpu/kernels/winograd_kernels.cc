#include "backends/cpu/kernels/winograd_kernels.h"

#include <algorithm>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/winograd_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

#include "backends/cpu/kernels/conv_tiles-inl.h"
#include "backends/cpu/kernels/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hr::cpu::HWY_NAMESPACE {
namespace {

using D = BlockTag<float>;
using V = hn::Vec<D>;
inline constexpr int64_t kPixel = kBatchBlock<float>;
inline constexpr int64_t kVector = kLanes<float>;

HWY_INLINE V Plus(V sum, float factor, V v) { return hn::MulAdd(hn::Set(D(), factor), v, sum); }

template <int kRows>
HWY_INLINE void CombineRows(const WinogradRows given, int64_t pixels, float* to) {
  const WinogradRows rows = given;
  for (int64_t i = 0; i < pixels * kPixel; i += kVector) {
    V sum = hn::Zero(D());
    HR_UNROLL for (int r = 0; r < kRows; ++r) {
      sum = Plus(sum, rows.factors[r], hn::Load(D(), rows.rows[r] + i));
    }
    hn::Store(sum, D(), to + i);
  }
}

HWY_ATTR void Combine(const WinogradRows& rows, int64_t pixels, float* to) {
  switch (rows.count) {
    case 0: return CombineRows<0>(rows, pixels, to);
    case 1: return CombineRows<1>(rows, pixels, to);
    case 2: return CombineRows<2>(rows, pixels, to);
    case 3: return CombineRows<3>(rows, pixels, to);
    case 4: return CombineRows<4>(rows, pixels, to);
    case 5: return CombineRows<5>(rows, pixels, to);
    case 6: return CombineRows<6>(rows, pixels, to);
    default: return CombineRows<7>(rows, pixels, to);
  }
}

HWY_ATTR void Spread(const float* from, int64_t pixels, const WinogradRows& rows) {
  for (int r = 0; r < rows.count; ++r) {
    const V factor = hn::Set(D(), rows.factors[r]);
    float* const row = rows.rows[r];
    for (int64_t i = 0; i < pixels * kPixel; i += kVector) {
      hn::Store(hn::MulAdd(factor, hn::Load(D(), from + i), hn::Load(D(), row + i)), D(), row + i);
    }
  }
}

// The factor is known to the compiler.
HWY_INLINE V Scaled(float factor, V v) {
  return factor == 1 ? v : hn::Mul(hn::Set(D(), factor), v);
}

// The points p and -p differ in the sign of the odd powers alone, so each pair shares its even and
// its odd part.
template <int kTaps, WinogradTiling kTiling>
struct RowTile {
  static constexpr const WinogradAxis& kAxis = WinogradAxisFor(kTaps, kTiling);
  static constexpr int kTile = kAxis.tile, kPairs = kAxis.pairs;
  static constexpr int kOutputs = static_cast<int>(kAxis.Outputs(kTaps));

  // Every second element from `first` on, times the factors of that row.
  static HWY_INLINE V Dot(int frequency, int first, int count, const V (&d)[kTile]) {
    const float(&row)[kWinogradMaxTile] = kAxis.input[frequency];
    const int last = first + 2 * (count - 1);
    V sum = Scaled(row[last], d[last]);
    HR_UNROLL for (int i = 1; i < count; ++i) {
      sum = Plus(sum, row[last - 2 * i], d[last - 2 * i]);
    }
    return sum;
  }

  static HWY_INLINE void InputTransform(const V (&d)[kTile], V (&out)[kTile]) {
    out[0] = Dot(0, 0, kPairs + 1, d);
    out[kTile - 1] = Dot(kTile - 1, 1, kPairs + 1, d);
    HR_UNROLL for (int pair = 0; pair < kPairs; ++pair) {
      const V even = Dot(1 + 2 * pair, 2, kPairs, d), odd = Dot(1 + 2 * pair, 1, kPairs, d);
      out[1 + 2 * pair] = hn::Add(even, odd);
      out[2 + 2 * pair] = hn::Sub(even, odd);
    }
  }

  static HWY_INLINE void Split(const V (&f)[kTile], V (&even)[kPairs], V (&odd)[kPairs]) {
    HR_UNROLL for (int pair = 0; pair < kPairs; ++pair) {
      even[pair] = hn::Add(f[1 + 2 * pair], f[2 + 2 * pair]);
      odd[pair] = hn::Sub(f[1 + 2 * pair], f[2 + 2 * pair]);
    }
  }

  static HWY_INLINE void InputTransformGradient(const V (&f)[kTile], V (&out)[kTile]) {
    V even[kPairs], odd[kPairs];
    Split(f, even, odd);
    out[0] = Scaled(kAxis.input[0][0], f[0]);
    out[kTile - 1] = f[kTile - 1];
    HR_UNROLL for (int i = 1; i < kTile - 1; ++i) {
      const V(&part)[kPairs] = i % 2 == 0 ? even : odd;
      const int edge = i % 2 == 0 ? 0 : kTile - 1;
      out[i] = Scaled(kAxis.input[1][i], part[0]);
      HR_UNROLL for (int pair = 1; pair < kPairs; ++pair) {
        out[i] = Plus(out[i], kAxis.input[1 + 2 * pair][i], part[pair]);
      }
      out[i] = Plus(out[i], kAxis.input[edge][i], f[edge]);
    }
  }

  static HWY_INLINE void OutputTransform(const V (&f)[kTile], V (&out)[kOutputs]) {
    V even[kPairs], odd[kPairs];
    Split(f, even, odd);
    HR_UNROLL for (int s = 0; s < kOutputs; ++s) {
      const V(&part)[kPairs] = s % 2 == 0 ? even : odd;
      out[s] = Scaled(kAxis.powers[1][s], part[0]);
      HR_UNROLL for (int pair = 1; pair < kPairs; ++pair) {
        out[s] = Plus(out[s], kAxis.powers[1 + 2 * pair][s], part[pair]);
      }
    }
    out[0] = hn::Add(out[0], f[0]);
    out[kOutputs - 1] = hn::Add(out[kOutputs - 1], f[kTile - 1]);
  }

  static HWY_INLINE void OutputTransformGradient(const V (&dy)[kOutputs], V (&out)[kTile]) {
    out[0] = dy[0];
    out[kTile - 1] = dy[kOutputs - 1];
    HR_UNROLL for (int pair = 0; pair < kPairs; ++pair) {
      V even = dy[0], odd = Scaled(kAxis.powers[1 + 2 * pair][1], dy[1]);
      HR_UNROLL for (int s = 2; s < kOutputs; ++s) {
        V& part = s % 2 == 0 ? even : odd;
        part = Plus(part, kAxis.powers[1 + 2 * pair][s], dy[s]);
      }
      out[1 + 2 * pair] = hn::Add(even, odd);
      out[2 + 2 * pair] = hn::Sub(even, odd);
    }
  }
};

// Calls body(lane offset in the row, lane offset in the frequencies) for all vectors of all tiles.
template <typename Body>
HWY_INLINE void ForTiles(const WinogradTiles call, const Body& body) {
  for (int64_t tile = 0; tile < call.tiles; ++tile) {
    for (int64_t part = 0; part < call.column; part += kVector) {
      body(tile * call.step * call.column + part, tile * call.tile + part);
    }
  }
}

template <int64_t kCount>
HWY_INLINE void LoadAll(const float* from, int64_t stride, V (&to)[kCount]) {
  HR_UNROLL for (int i = 0; i < kCount; ++i) to[i] = hn::Load(D(), from + i * stride);
}
template <int64_t kCount>
HWY_INLINE void StoreAll(const V (&from)[kCount], int64_t stride, float* to) {
  HR_UNROLL for (int i = 0; i < kCount; ++i) hn::Store(from[i], D(), to + i * stride);
}

template <int kTaps, WinogradTiling kTiling>
HWY_ATTR void InputTransform(const WinogradTiles& call, const float* from, float* to) {
  using Tile = RowTile<kTaps, kTiling>;
  const int64_t plane = call.plane, column = call.column;
  ForTiles(call, [&](int64_t pixel, int64_t frequency) HWY_ATTR {
    V d[Tile::kTile], out[Tile::kTile];
    LoadAll(from + pixel, column, d);
    Tile::InputTransform(d, out);
    StoreAll(out, plane, to + frequency);
  });
}

template <int kTaps, WinogradTiling kTiling>
HWY_ATTR void InputTransformGradient(const WinogradTiles& call, const float* from, float* to) {
  using Tile = RowTile<kTaps, kTiling>;
  const int64_t plane = call.plane, column = call.column;
  ForTiles(call, [&](int64_t pixel, int64_t frequency) HWY_ATTR {
    V f[Tile::kTile], out[Tile::kTile], sum[Tile::kTile];
    LoadAll(from + frequency, plane, f);
    Tile::InputTransformGradient(f, out);
    LoadAll(to + pixel, column, sum);
    HR_UNROLL for (int i = 0; i < Tile::kTile; ++i) sum[i] = hn::Add(sum[i], out[i]);
    StoreAll(sum, column, to + pixel);
  });
}

template <int kTaps, WinogradTiling kTiling>
HWY_ATTR void OutputTransform(const WinogradTiles& call, const float* from, float* to) {
  using Tile = RowTile<kTaps, kTiling>;
  const int64_t plane = call.plane, column = call.column;
  ForTiles(call, [&](int64_t pixel, int64_t frequency) HWY_ATTR {
    V f[Tile::kTile], out[Tile::kOutputs];
    LoadAll(from + frequency, plane, f);
    Tile::OutputTransform(f, out);
    StoreAll(out, column, to + pixel);
  });
}

template <int kTaps, WinogradTiling kTiling>
HWY_ATTR void OutputTransformGradient(const WinogradTiles& call, const float* from, float* to) {
  using Tile = RowTile<kTaps, kTiling>;
  const int64_t plane = call.plane, column = call.column;
  ForTiles(call, [&](int64_t pixel, int64_t frequency) HWY_ATTR {
    V dy[Tile::kOutputs], out[Tile::kTile];
    LoadAll(from + pixel, column, dy);
    Tile::OutputTransformGradient(dy, out);
    StoreAll(out, plane, to + frequency);
  });
}

// G for filters of `size` taps.
struct FilterMatrix {
  int tile;
  int64_t taps;
  float factors[kWinogradMaxTile][kWinogradMaxKernel] = {};

  constexpr FilterMatrix(int64_t size, WinogradTiling tiling)
      : tile(WinogradAxisFor(size, tiling).tile), taps(size) {
    for (int i = 0; i < tile; ++i) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        factors[i][tap] = WinogradAxisFor(taps, tiling).Filter(i, tap, taps);
      }
    }
  }

  HWY_INLINE void Transform(const V* from, int64_t stride, V* to, int64_t to_stride) const {
    for (int i = 0; i < tile; ++i) {
      V sum = hn::Mul(hn::Set(D(), factors[i][0]), from[0]);
      for (int64_t tap = 1; tap < taps; ++tap) sum = Plus(sum, factors[i][tap], from[tap * stride]);
      to[i * to_stride] = sum;
    }
  }
};

// The filters of a vector, from q on: to[tap * kVector + lane].
HWY_INLINE void LoadFilters(const WinogradFilters& call, int64_t q, int64_t taps, float* to) {
  const auto place = [&](int64_t tap) {
    return to + (call.turned ? taps - 1 - tap : tap) * kVector;
  };
  int64_t a = q / call.columns, b = q % call.columns;
  if (q + kVector <= call.count && b + kVector <= call.columns) {
    constexpr int64_t kB = kBlock<float>;
    const float* w = call.w + a * call.w_a + b * call.w_b;
    for (int64_t lane = 0; lane < kVector; lane += kB, w += kB * call.w_b) {
      int64_t tap = 0;
      for (; tap + kB <= taps; tap += kB) {
        const float* from[kB];
        float* at[kB];
        for (int64_t k = 0; k < kB; ++k) {
          from[k] = w + k * call.w_b + tap;
          at[k] = place(tap + k) + lane;
        }
        TransposeBlock(from, at);
      }
      for (; tap < taps; ++tap) {
        for (int64_t k = 0; k < kB; ++k) place(tap)[lane + k] = w[k * call.w_b + tap];
      }
    }
    return;
  }
  for (int64_t lane = 0; lane < kVector; ++lane) {
    const bool exists = q + lane < call.count;
    const float* const w = call.w + a * call.w_a + b * call.w_b;
    for (int64_t tap = 0; tap < taps; ++tap) place(tap)[lane] = exists ? w[tap] : 0;
    if (++b == call.columns) b = 0, ++a;
  }
}

// The same for the most frequent kernels, with what the compiler has to know to unroll all loops.
// Filters at p and -p share their even and odd part, as in RowTile.
template <int kTaps, WinogradTiling kTiling>
struct FixedFilterMatrix {
  static constexpr FilterMatrix kMatrix = FilterMatrix(kTaps, kTiling);
  static constexpr int tile = kMatrix.tile;
  static constexpr int64_t taps = kTaps;

  static HWY_INLINE V Part(const float (&factors)[kWinogradMaxKernel], int first, const V* from,
                           int64_t stride) {
    V sum = Scaled(factors[first], from[first * stride]);
    HR_UNROLL for (int tap = first + 2; tap < kTaps; tap += 2) {
      sum = Plus(sum, factors[tap], from[tap * stride]);
    }
    return sum;
  }

  static HWY_INLINE void Transform(const V* from, int64_t stride, V* to, int64_t to_stride) {
    to[0] = Scaled(kMatrix.factors[0][0], from[0]);
    to[(tile - 1) * to_stride] = from[(kTaps - 1) * stride];
    HR_UNROLL for (int i = 1; i + 1 < tile; i += 2) {
      const V even = Part(kMatrix.factors[i], 0, from, stride);
      const V odd = Part(kMatrix.factors[i], 1, from, stride);
      to[i * to_stride] = hn::Add(even, odd);
      to[(i + 1) * to_stride] = hn::Sub(even, odd);
    }
  }
};

template <typename Rows, typename Columns>
HWY_INLINE void TransformFilters(const WinogradFilters call, const Rows& rows,
                                 const Columns& columns) {
  // Some are loaded before the first one is used, since memory is read in larger pieces than
  // written.
  constexpr int64_t kAtOnce = 8;
  const int64_t taps = rows.taps * columns.taps;
  alignas(64) float loaded[kAtOnce * kWinogradMaxKernel * kWinogradMaxKernel * kVector];
  V filter[kWinogradMaxKernel * kWinogradMaxKernel];
  V tall[kWinogradMaxTile * kWinogradMaxKernel], out[kWinogradMaxTile];
  for (int64_t first = call.begin; first < call.end; first += kAtOnce * kVector) {
    const int64_t end = std::min(call.end, first + kAtOnce * kVector);
    for (int64_t q = first; q < end; q += kVector) {
      LoadFilters(call, q, taps, loaded + (q - first) * taps);
    }
    for (int64_t q = first; q < end; q += kVector) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        filter[tap] = hn::Load(D(), loaded + (q - first) * taps + tap * kVector);
      }
      for (int64_t s = 0; s < columns.taps; ++s) {
        rows.Transform(filter + s, columns.taps, tall + s, columns.taps);
      }
      for (int i = 0; i < rows.tile; ++i) {
        columns.Transform(tall + i * columns.taps, 1, out, 1);
        float* const to = call.to + i * columns.tile * call.plane + q;
        for (int j = 0; j < columns.tile; ++j) hn::Store(out[j], D(), to + j * call.plane);
      }
    }
  }
}

HWY_ATTR void Filters(const WinogradFilters& call) {
  if (call.tiling == WinogradTiling::kSmall) {
    const FixedFilterMatrix<kWinogradSmallKernel, WinogradTiling::kSmall> matrix;
    return TransformFilters(call, matrix, matrix);
  }
  if (call.kernel_rows == 3 && call.kernel_columns == 3) {
    const FixedFilterMatrix<3, WinogradTiling::kLarge> matrix;
    return TransformFilters(call, matrix, matrix);
  }
  TransformFilters(call, FilterMatrix(call.kernel_rows, call.tiling),
                   FilterMatrix(call.kernel_columns, call.tiling));
}

HWY_ATTR void FilterGradient(const WinogradFilterGradient& given) {
  const WinogradFilterGradient call = given;
  const FilterMatrix rows(call.kernel_rows, call.tiling), columns(call.kernel_columns, call.tiling);
  for (int64_t q = 0; q < call.count; q += kVector) {
    for (int64_t s = 0; s < call.kernel_columns; ++s) {
      V sum = hn::Zero(D());
      for (int j = 0; j < columns.tile; ++j) {
        sum = Plus(sum, columns.factors[j][s], hn::Load(D(), call.from + j * call.plane + q));
      }
      for (int64_t r = 0; r < call.kernel_rows; ++r) {
        float* const to = call.to + (r * call.kernel_columns + s) * call.count + q;
        hn::Store(Plus(hn::Load(D(), to), rows.factors[call.frequency][r], sum), D(), to);
      }
    }
  }
}

HWY_ATTR void Copy(const float* from, int64_t pixels, bool relu, float* y) {
  for (int64_t i = 0; i < pixels * kPixel; i += kVector) {
    const V value = hn::Load(D(), from + i);
    hn::Store(relu ? Relu(value) : value, D(), y + i);
  }
}

template <int kTaps, WinogradTiling kTiling>
constexpr WinogradRowKernels kRow = {
    &InputTransform<kTaps, kTiling>, &InputTransformGradient<kTaps, kTiling>,
    &OutputTransform<kTaps, kTiling>, &OutputTransformGradient<kTaps, kTiling>};

template <int... i>
constexpr void FillRows(WinogradKernels& table, std::integer_sequence<int, i...>) {
  ((table.row[kWinogradMinKernel + i] = kRow<kWinogradMinKernel + i, WinogradTiling::kLarge>), ...);
}

constexpr WinogradKernels MakeTable() {
  WinogradKernels table{};
  table.combine = &Combine;
  table.spread = &Spread;
  FillRows(table, std::make_integer_sequence<int, kWinogradMaxKernel - kWinogradMinKernel + 1>());
  table.small_row = kRow<kWinogradSmallKernel, WinogradTiling::kSmall>;
  table.filters = &Filters;
  table.filter_gradient = &FilterGradient;
  table.copy = &Copy;
  return table;
}

const WinogradKernels& Kernels() {
  static constexpr WinogradKernels kTable = MakeTable();
  return kTable;
}

}  // namespace
}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hr::cpu {
HWY_EXPORT(Kernels);

const WinogradKernels& KernelsForWinograd() { return HWY_DYNAMIC_DISPATCH(Kernels)(); }

}  // namespace hr::cpu
#endif
