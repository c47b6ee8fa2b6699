#include "backends/cpu/kernels/winograd_kernels.h"

#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/winograd_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

#include "backends/cpu/kernels/conv_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hr::cpu::HWY_NAMESPACE {
namespace {

using D = Vector<float>;
using V = hn::Vec<D>;
inline constexpr int64_t kPixel = kBatchBlock<float>;
inline constexpr int64_t kVector = kLanes<float>;

HWY_INLINE V Times(float factor, V v) { return hn::Mul(hn::Set(D(), factor), v); }
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
    default: return CombineRows<6>(rows, pixels, to);
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

// The points 2 and -2, say, differ in the sign of the odd powers alone, so each pair shares its
// even and its odd part.
HWY_INLINE void InputTile(const V (&d)[kWinogradTile], V (&out)[kWinogradTile]) {
  out[0] = Plus(hn::Sub(d[6], d[0]), 5.25F, hn::Sub(d[2], d[4]));
  out[7] = Plus(hn::Sub(d[7], d[1]), 5.25F, hn::Sub(d[3], d[5]));
  const V even1 = Plus(hn::Add(d[2], d[6]), -4.25F, d[4]);
  const V odd1 = Plus(hn::Add(d[1], d[5]), -4.25F, d[3]);
  const V even2 = Plus(Plus(d[6], 0.25F, d[2]), -1.25F, d[4]);
  const V odd2 = Plus(Plus(Times(0.5F, d[1]), -2.5F, d[3]), 2.0F, d[5]);
  const V even3 = Plus(Plus(d[6], 4.0F, d[2]), -5.0F, d[4]);
  const V odd3 = Plus(Plus(Times(2.0F, d[1]), -2.5F, d[3]), 0.5F, d[5]);
  out[1] = hn::Add(even1, odd1);
  out[2] = hn::Sub(even1, odd1);
  out[3] = hn::Add(even2, odd2);
  out[4] = hn::Sub(even2, odd2);
  out[5] = hn::Add(even3, odd3);
  out[6] = hn::Sub(even3, odd3);
}

// The transposed one.
HWY_INLINE void InputGradientTile(const V (&f)[kWinogradTile], V (&out)[kWinogradTile]) {
  const V even1 = hn::Add(f[1], f[2]), odd1 = hn::Sub(f[1], f[2]);
  const V even2 = hn::Add(f[3], f[4]), odd2 = hn::Sub(f[3], f[4]);
  const V even3 = hn::Add(f[5], f[6]), odd3 = hn::Sub(f[5], f[6]);
  out[0] = hn::Neg(f[0]);
  out[1] = hn::Sub(Plus(Plus(odd1, 0.5F, odd2), 2.0F, odd3), f[7]);
  out[2] = Plus(Plus(Plus(even1, 0.25F, even2), 4.0F, even3), 5.25F, f[0]);
  out[3] = Plus(Plus(Times(-4.25F, odd1), -2.5F, hn::Add(odd2, odd3)), 5.25F, f[7]);
  out[4] = Plus(Plus(Plus(Times(-4.25F, even1), -1.25F, even2), -5.0F, even3), -5.25F, f[0]);
  out[5] = Plus(Plus(Plus(odd1, 2.0F, odd2), 0.5F, odd3), -5.25F, f[7]);
  out[6] = hn::Add(hn::Add(even1, even2), hn::Add(even3, f[0]));
  out[7] = f[7];
}

// Calls body(lane offset in the row, lane offset in the frequencies) for all vectors of all tiles.
template <typename Body>
HWY_INLINE void ForTiles(const WinogradTiles call, const Body& body) {
  for (int64_t tile = 0; tile < call.tiles; ++tile) {
    for (int64_t part = 0; part < kPixel; part += kVector) {
      body(tile * call.step * kPixel + part, tile * kPixel + part);
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

HWY_ATTR void Input(const WinogradTiles& call, const float* from, float* to) {
  const int64_t plane = call.plane;
  ForTiles(call, [&](int64_t pixel, int64_t frequency) HWY_ATTR {
    V d[kWinogradTile], out[kWinogradTile];
    LoadAll(from + pixel, kPixel, d);
    InputTile(d, out);
    StoreAll(out, plane, to + frequency);
  });
}

HWY_ATTR void InputGradient(const WinogradTiles& call, const float* from, float* to) {
  const int64_t plane = call.plane;
  ForTiles(call, [&](int64_t pixel, int64_t frequency) HWY_ATTR {
    V f[kWinogradTile], out[kWinogradTile], sum[kWinogradTile];
    LoadAll(from + frequency, plane, f);
    InputGradientTile(f, out);
    LoadAll(to + pixel, kPixel, sum);
    HR_UNROLL for (int i = 0; i < kWinogradTile; ++i) sum[i] = hn::Add(sum[i], out[i]);
    StoreAll(sum, kPixel, to + pixel);
  });
}

template <int kOutputs>
HWY_ATTR void Output(const WinogradTiles& call, const float* from, float* to) {
  const int64_t plane = call.plane;
  ForTiles(call, [&](int64_t pixel, int64_t frequency) HWY_ATTR {
    V f[kWinogradTile], out[kOutputs];
    LoadAll(from + frequency, plane, f);
    const V even[] = {hn::Add(f[1], f[2]), hn::Add(f[3], f[4]), hn::Add(f[5], f[6])};
    const V odd[] = {hn::Sub(f[1], f[2]), hn::Sub(f[3], f[4]), hn::Sub(f[5], f[6])};
    HR_UNROLL for (int s = 0; s < kOutputs; ++s) {
      const V(&part)[3] = s % 2 == 0 ? even : odd;
      const auto power = static_cast<float>(1 << s);
      out[s] = Plus(Plus(part[0], power, part[1]), 1 / power, part[2]);
    }
    out[0] = hn::Add(out[0], f[0]);
    out[kOutputs - 1] = hn::Add(out[kOutputs - 1], f[7]);
    StoreAll(out, kPixel, to + pixel);
  });
}

template <int kOutputs>
HWY_ATTR void OutputGradient(const WinogradTiles& call, const float* from, float* to) {
  const int64_t plane = call.plane;
  ForTiles(call, [&](int64_t pixel, int64_t frequency) HWY_ATTR {
    V dy[kOutputs], out[kWinogradTile];
    LoadAll(from + pixel, kPixel, dy);
    V even[3], odd[3];
    HR_UNROLL for (int p = 0; p < 3; ++p) even[p] = dy[0], odd[p] = hn::Zero(D());
    HR_UNROLL for (int s = 1; s < kOutputs; ++s) {
      V(&part)[3] = s % 2 == 0 ? even : odd;
      const auto power = static_cast<float>(1 << s);
      part[0] = hn::Add(part[0], dy[s]);
      part[1] = Plus(part[1], power, dy[s]);
      part[2] = Plus(part[2], 1 / power, dy[s]);
    }
    out[0] = dy[0];
    HR_UNROLL for (int p = 0; p < 3; ++p) {
      out[1 + 2 * p] = hn::Add(even[p], odd[p]);
      out[2 + 2 * p] = hn::Sub(even[p], odd[p]);
    }
    out[7] = dy[kOutputs - 1];
    StoreAll(out, plane, to + frequency);
  });
}

// G for filters of `taps` taps.
struct FilterMatrix {
  int64_t taps;
  float factors[kWinogradTile][kWinogradMaxKernel];

  explicit FilterMatrix(int64_t size) : taps(size) {
    for (int i = 0; i < kWinogradTile; ++i) {
      for (int64_t tap = 0; tap < taps; ++tap) factors[i][tap] = WinogradFilterFactor(i, tap, taps);
    }
  }

  HWY_INLINE void Transform(const V* from, int64_t stride, V* to, int64_t to_stride) const {
    for (int i = 0; i < kWinogradTile; ++i) {
      V sum = hn::Zero(D());
      for (int64_t tap = 0; tap < taps; ++tap) sum = Plus(sum, factors[i][tap], from[tap * stride]);
      to[i * to_stride] = sum;
    }
  }
};

HWY_ATTR void Filters(const WinogradFilters& given) {
  const WinogradFilters call = given;
  const int64_t taps = call.kernel_rows * call.kernel_columns;
  const FilterMatrix rows(call.kernel_rows), columns(call.kernel_columns);
  alignas(64) float lanes[kWinogradMaxKernel * kWinogradMaxKernel * kVector];
  V filter[kWinogradMaxKernel * kWinogradMaxKernel];
  V tall[kWinogradTile * kWinogradMaxKernel], out[kWinogradTile];
  for (int64_t q = call.begin; q < call.end; q += kVector) {
    for (int64_t lane = 0; lane < kVector; ++lane) {
      const bool exists = q + lane < call.count;
      const int64_t a = (q + lane) / call.columns, b = (q + lane) % call.columns;
      const float* w = call.w + a * call.w_a + b * call.w_b;
      for (int64_t tap = 0; tap < taps; ++tap) lanes[tap * kVector + lane] = exists ? w[tap] : 0;
    }
    for (int64_t tap = 0; tap < taps; ++tap) filter[tap] = hn::Load(D(), lanes + tap * kVector);
    for (int64_t s = 0; s < call.kernel_columns; ++s) {
      rows.Transform(filter + s, call.kernel_columns, tall + s, call.kernel_columns);
    }
    for (int i = 0; i < kWinogradTile; ++i) {
      columns.Transform(tall + i * call.kernel_columns, 1, out, 1);
      StoreAll(out, call.plane, call.to + i * kWinogradTile * call.plane + q);
    }
  }
}

HWY_ATTR void FilterGradient(const WinogradFilterGradient& given) {
  const WinogradFilterGradient call = given;
  const FilterMatrix rows(call.kernel_rows), columns(call.kernel_columns);
  for (int64_t q = 0; q < call.plane; q += kVector) {
    for (int64_t s = 0; s < call.kernel_columns; ++s) {
      V sum = hn::Zero(D());
      for (int j = 0; j < kWinogradTile; ++j) {
        sum = Plus(sum, columns.factors[j][s], hn::Load(D(), call.from + j * call.plane + q));
      }
      for (int64_t r = 0; r < call.kernel_rows; ++r) {
        float* const to = call.to + (r * call.kernel_columns + s) * call.plane + q;
        hn::Store(Plus(hn::Load(D(), to), rows.factors[call.frequency][r], sum), D(), to);
      }
    }
  }
}

HWY_ATTR void Copy(const float* from, int64_t pixels, bool relu, float* y) {
  for (int64_t i = 0; i < pixels * kPixel; i += kVector) {
    const V value = hn::Load(D(), from + i);
    // Max's second argument comes back where one is NaN.
    hn::Store(relu ? hn::Max(hn::Zero(D()), value) : value, D(), y + i);
  }
}

template <int... i>
constexpr void FillOutputs(WinogradKernels& table, std::integer_sequence<int, i...>) {
  ((table.output[i + 2] = &Output<i + 2>), ...);
  ((table.output_gradient[i + 2] = &OutputGradient<i + 2>), ...);
}

constexpr WinogradKernels MakeTable() {
  WinogradKernels table{};
  table.combine = &Combine;
  table.spread = &Spread;
  table.input = &Input;
  table.input_gradient = &InputGradient;
  FillOutputs(table,
              std::make_integer_sequence<int, kWinogradMaxKernel - kWinogradMinKernel + 1>());
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
