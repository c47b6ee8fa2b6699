#include "backends/cpu/kernels/column_kernels.h"

#include <algorithm>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/column_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

#include "backends/cpu/kernels/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hr::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
// Of this file: another may use the same names.
namespace {

constexpr int64_t kRun = 64;  // rows that are added up in T

template <typename T>
using Tag = hn::ScalableTag<T>;
template <typename T>
using Vector = hn::Vec<Tag<T>>;
template <typename T>
constexpr auto kColumnLanes = static_cast<int64_t>(HWY_LANES(T));

// Calls visit(first column, columns, number of vectors as a type, lanes): vectors that lie side by
// side are visited together.
template <typename T, typename Visit>
HWY_INLINE void ForColumns(int64_t channels, const Visit& visit) {
  constexpr int64_t kOne = kColumnLanes<T>, kFour = 4 * kOne;
  int64_t c = 0;
  for (; c + kFour <= channels; c += kFour) {
    visit(c, kFour, std::integral_constant<int, 4>(), WholeLanes<Tag<T>>());
  }
  const std::integral_constant<int, 1> one;
  for (; c + kOne <= channels; c += kOne) visit(c, kOne, one, WholeLanes<Tag<T>>());
  if (c < channels) visit(c, channels - c, one, FirstLanes<Tag<T>>(channels - c));
}

// One sum for each of some columns.
template <typename T, int kVectors>
struct ColumnSums {
  HWY_INLINE ColumnSums() {
    for (int v = 0; v < kVectors; ++v) sum[v] = hn::Zero(Tag<T>());
  }
  // Calls visit(column, sum).
  template <typename Visit>
  HWY_INLINE void ForLanes(int64_t columns, const Visit& visit) const {
    HWY_ALIGN T part[kVectors * kColumnLanes<T>];
    for (int v = 0; v < kVectors; ++v) hn::Store(sum[v], Tag<T>(), part + v * kColumnLanes<T>);
    for (int64_t c = 0; c < columns; ++c) visit(c, static_cast<double>(part[c]));
  }

  Vector<T> sum[kVectors];
};

// Calls body(first row, rows) for runs of rows.
template <typename Body>
HWY_INLINE void ForRowRuns(int64_t rows, const Body& body) {
  for (int64_t first = 0; first < rows; first += kRun) body(first, std::min(kRun, rows - first));
}

// The mean is taken of the distances from a rounded one, which are small.
template <typename T, int kVectors, typename Lanes>
HWY_INLINE void AddMoments(const T* x, int64_t rows, int64_t channels, int64_t columns,
                           const Lanes& lanes, double before, double* means, double* squares) {
  ColumnSums<T, kVectors> sums, rest, square;
  for (int64_t row = 0; row < rows; ++row) {
    for (int v = 0; v < kVectors; ++v) {
      const T* const from = x + row * channels + v * kColumnLanes<T>;
      sums.sum[v] = hn::Add(sums.sum[v], lanes.Load(from));
    }
  }
  const auto share_of_one = hn::Set(Tag<T>(), T(1) / static_cast<T>(rows));
  for (auto& mean : sums.sum) mean = hn::Mul(mean, share_of_one);
  for (int64_t row = 0; row < rows; ++row) {
    for (int v = 0; v < kVectors; ++v) {
      const T* const from = x + row * channels + v * kColumnLanes<T>;
      const auto away = hn::Sub(lanes.Load(from), sums.sum[v]);
      rest.sum[v] = hn::Add(rest.sum[v], away);
      square.sum[v] = hn::MulAdd(away, away, square.sum[v]);
    }
  }
  // As Moments::Add, with few divisions.
  const auto count = static_cast<double>(rows);
  const double part = 1 / count, share = count / (before + count), weight = before * share;
  HWY_ALIGN double mean[kVectors * kColumnLanes<T>], off[kVectors * kColumnLanes<T>];
  sums.ForLanes(columns, [&](int64_t c, double sum) HWY_ATTR { mean[c] = sum; });
  rest.ForLanes(columns, [&](int64_t c, double sum) HWY_ATTR { off[c] = sum * part; });
  square.ForLanes(columns, [&](int64_t c, double sum) HWY_ATTR {
    const double away = mean[c] + off[c] - means[c];
    squares[c] += sum - off[c] * off[c] * count + away * away * weight;
    means[c] += away * share;
  });
}

template <typename T>
void MomentsOfColumns(const T* x, int64_t rows, int64_t channels, double* means, double* squares) {
  std::fill_n(means, channels, 0.0);
  std::fill_n(squares, channels, 0.0);
  ForRowRuns(rows, [&](int64_t first, int64_t count) HWY_ATTR {
    ForColumns<T>(
        channels, [&](int64_t c, int64_t columns, auto vectors, const auto& lanes) HWY_ATTR {
          AddMoments<T, decltype(vectors)::value>(x + first * channels + c, count, channels,
                                                  columns, lanes, static_cast<double>(first),
                                                  means + c, squares + c);
        });
  });
}

// The ColumnLines of some columns in vectors; bias only if a ReLU follows.
template <typename T, bool kRelu, int kVectors>
struct LineVectors {
  template <typename Lanes>
  HWY_INLINE LineVectors(const ColumnLines<T>& lines, int64_t c, const Lanes& lanes) {
    for (int v = 0; v < kVectors; ++v) {
      const int64_t at = c + v * kColumnLanes<T>;
      mean[v] = lanes.Load(lines.mean + at);
      if constexpr (!kRelu) continue;
      factor[v] = lanes.Load(lines.factor + at);
      bias[v] = lanes.Load(lines.bias + at);
    }
  }
  // `dy` where a ReLU has passed the element, if one followed.
  HWY_INLINE Vector<T> Passed(int v, Vector<T> away, Vector<T> dy) const {
    if constexpr (!kRelu) return dy;
    const auto value = hn::MulAdd(away, factor[v], bias[v]);
    return hn::IfThenElseZero(hn::Gt(value, hn::Zero(Tag<T>())), dy);
  }

  Vector<T> mean[kVectors], factor[kVectors], bias[kVectors];
};

template <typename T, bool kRelu, int kVectors, typename Lanes>
HWY_INLINE void AddDots(const T* dy, const T* x, int64_t rows, int64_t channels, int64_t columns,
                        const LineVectors<T, kRelu, kVectors>& lines, const Lanes& lanes,
                        double* sums, double* products) {
  ColumnSums<T, kVectors> sum, product;
  for (int64_t row = 0; row < rows; ++row) {
    for (int v = 0; v < kVectors; ++v) {
      const int64_t at = row * channels + v * kColumnLanes<T>;
      const auto away = hn::Sub(lanes.Load(x + at), lines.mean[v]);
      const auto d = lines.Passed(v, away, lanes.Load(dy + at));
      sum.sum[v] = hn::Add(sum.sum[v], d);
      product.sum[v] = hn::MulAdd(d, away, product.sum[v]);
    }
  }
  sum.ForLanes(columns, [&](int64_t c, double part) HWY_ATTR { sums[c] += part; });
  product.ForLanes(columns, [&](int64_t c, double part) HWY_ATTR { products[c] += part; });
}

template <typename T, bool kRelu>
void DotsOfColumns(const T* dy, const T* x, int64_t rows, int64_t channels,
                   const ColumnLines<T>& given, double* sums, double* products) {
  ForRowRuns(rows, [&](int64_t first, int64_t count) HWY_ATTR {
    ForColumns<T>(channels, [&](int64_t c, int64_t columns, auto vectors,
                                const auto& lanes) HWY_ATTR {
      const int64_t at = first * channels + c;
      const LineVectors<T, kRelu, decltype(vectors)::value> lines(given, c, lanes);
      AddDots<T>(dy + at, x + at, count, channels, columns, lines, lanes, sums + c, products + c);
    });
  });
}

template <typename T, bool kRelu>
void NormalizeColumnsOf(const T* x, int64_t rows, int64_t channels, const ColumnLines<T>& given,
                        const T* residual, T* y) {
  const ColumnLines<T> lines = given;  // a vector store might overwrite what a reference points at
  const auto zero = hn::Zero(Tag<T>());
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t first = row * channels;
    ForVectors<Tag<T>>(channels, [&](int64_t c, const auto& lanes) HWY_ATTR {
      const auto away = hn::Sub(lanes.Load(x + first + c), lanes.Load(lines.mean + c));
      auto value = hn::MulAdd(away, lanes.Load(lines.factor + c), lanes.Load(lines.bias + c));
      if (residual != nullptr) value = hn::Add(value, lanes.Load(residual + first + c));
      if (kRelu) value = hn::IfThenElse(hn::Lt(value, zero), zero, value);
      lanes.Store(value, y + first + c);
    });
  }
}

template <typename T, bool kRelu>
void GradientOfColumns(const T* dy, const T* x, int64_t rows, int64_t channels,
                       const ColumnLines<T>& given, const T* share, const T* slope, T* dx) {
  const ColumnLines<T> lines = given;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t first = row * channels;
    ForVectors<Tag<T>>(channels, [&](int64_t c, const auto& lanes) HWY_ATTR {
      const LineVectors<T, kRelu, 1> line(lines, c, lanes);
      const auto away = hn::Sub(lanes.Load(x + first + c), line.mean[0]);
      const auto d = line.Passed(0, away, lanes.Load(dy + first + c));
      const auto rest =
          hn::NegMulAdd(away, lanes.Load(slope + c), hn::Sub(d, lanes.Load(share + c)));
      lanes.Store(hn::Mul(rest, lanes.Load(lines.factor + c)), dx + first + c);
    });
  }
}

template <typename T>
constexpr ColumnKernels<T> kTable = {
    .moments = MomentsOfColumns<T>,
    .normalize = {NormalizeColumnsOf<T, false>, NormalizeColumnsOf<T, true>},
    .dots = {DotsOfColumns<T, false>, DotsOfColumns<T, true>},
    .gradient = {GradientOfColumns<T, false>, GradientOfColumns<T, true>}};

}  // namespace

const ColumnKernels<float>& FloatColumns() { return kTable<float>; }
const ColumnKernels<double>& DoubleColumns() { return kTable<double>; }

}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hr::cpu {
HWY_EXPORT(FloatColumns);
HWY_EXPORT(DoubleColumns);

template <>
const ColumnKernels<float>& KernelsForColumns() {
  return HWY_DYNAMIC_DISPATCH(FloatColumns)();
}

template <>
const ColumnKernels<double>& KernelsForColumns() {
  return HWY_DYNAMIC_DISPATCH(DoubleColumns)();
}

}  // namespace hr::cpu
#endif
