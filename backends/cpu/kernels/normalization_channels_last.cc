#include "backends/cpu/kernels/normalization_channels_last.h"

#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels/partition.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/normalization_channels_last.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h.
#include <hwy/highway.h>

#include "backends/cpu/kernels/partial-inl.h"

#if !defined(HR_CPU_COLUMN_KERNELS)
#define HR_CPU_COLUMN_KERNELS
namespace hr::cpu {

// Passes over some rows of a matrix with `channels` columns. Arrays have an element a column.
template <typename T>
struct ColumnKernels {
  // sums += those of x; of (x - mean)²; of dy and of dy (x - mean).
  void (*sum)(const T* x, int64_t rows, int64_t channels, double* sums);
  void (*squares)(const T* x, int64_t rows, int64_t channels, const T* mean, double* sums);
  void (*dots)(const T* dy, const T* x, int64_t rows, int64_t channels, const T* mean, double* sums,
               double* products);
  // y = (x - mean) a + b
  void (*normalize)(const T* x, int64_t rows, int64_t channels, const T* mean, const T* a,
                    const T* b, T* y);
  // dx = a (dy - b - (x - mean) c)
  void (*gradient)(const T* dy, const T* x, int64_t rows, int64_t channels, const T* mean,
                   const T* a, const T* b, const T* c, T* dx);
};

}  // namespace hr::cpu
#endif

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
HWY_INLINE void AddLanes(Vector<T> sum, int64_t count, double* to) {
  HWY_ALIGN T part[HWY_LANES(T)];
  hn::Store(sum, Tag<T>(), part);
  for (int64_t i = 0; i < count; ++i) to[i] += static_cast<double>(part[i]);
}

// Calls term(offset, lanes, &sum, &product) for each vector of some rows, which adds to both, and
// adds these to the sums (products: null where there are none).
template <typename T, typename Term>
HWY_INLINE void AddColumns(int64_t rows, int64_t channels, double* sums, double* products,
                           const Term& term) {
  constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(T));
  for (int64_t first = 0; first < rows; first += kRun) {
    const int64_t last = std::min(rows, first + kRun);
    ForVectors<Tag<T>>(channels, [&](int64_t c, const auto& lanes) HWY_ATTR {
      Vector<T> sum = hn::Zero(Tag<T>()), product = sum;
      for (int64_t row = first; row < last; ++row) term(row * channels + c, c, lanes, sum, product);
      const int64_t count = std::min(kLanes, channels - c);
      AddLanes<T>(sum, count, sums + c);
      if (products != nullptr) AddLanes<T>(product, count, products + c);
    });
  }
}

template <typename T>
void Sum(const T* x, int64_t rows, int64_t channels, double* sums) {
  AddColumns<T>(rows, channels, sums, nullptr,
                [&](int64_t at, int64_t, const auto& lanes, auto& sum, auto&)
                    HWY_ATTR { sum = hn::Add(sum, lanes.Load(x + at)); });
}

template <typename T>
void Squares(const T* x, int64_t rows, int64_t channels, const T* mean, double* sums) {
  AddColumns<T>(rows, channels, sums, nullptr,
                [&](int64_t at, int64_t c, const auto& lanes, auto& sum, auto&) HWY_ATTR {
                  const auto away = hn::Sub(lanes.Load(x + at), lanes.Load(mean + c));
                  sum = hn::MulAdd(away, away, sum);
                });
}

template <typename T>
void Dots(const T* dy, const T* x, int64_t rows, int64_t channels, const T* mean, double* sums,
          double* products) {
  AddColumns<T>(rows, channels, sums, products,
                [&](int64_t at, int64_t c, const auto& lanes, auto& sum, auto& product) HWY_ATTR {
                  const auto d = lanes.Load(dy + at);
                  const auto away = hn::Sub(lanes.Load(x + at), lanes.Load(mean + c));
                  sum = hn::Add(sum, d);
                  product = hn::MulAdd(d, away, product);
                });
}

template <typename T>
void Normalize(const T* x, int64_t rows, int64_t channels, const T* mean, const T* a, const T* b,
               T* y) {
  for (int64_t row = 0; row < rows; ++row, x += channels, y += channels) {
    ForVectors<Tag<T>>(channels, [&](int64_t c, const auto& lanes) HWY_ATTR {
      const auto away = hn::Sub(lanes.Load(x + c), lanes.Load(mean + c));
      lanes.Store(hn::MulAdd(away, lanes.Load(a + c), lanes.Load(b + c)), y + c);
    });
  }
}

template <typename T>
void Gradient(const T* dy, const T* x, int64_t rows, int64_t channels, const T* mean, const T* a,
              const T* b, const T* c, T* dx) {
  for (int64_t row = 0; row < rows; ++row, dy += channels, x += channels, dx += channels) {
    ForVectors<Tag<T>>(channels, [&](int64_t i, const auto& lanes) HWY_ATTR {
      const auto away = hn::Sub(lanes.Load(x + i), lanes.Load(mean + i));
      const auto rest = hn::Sub(lanes.Load(dy + i), lanes.Load(b + i));
      const auto d = hn::NegMulAdd(away, lanes.Load(c + i), rest);
      lanes.Store(hn::Mul(lanes.Load(a + i), d), dx + i);
    });
  }
}

template <typename T>
constexpr ColumnKernels<T> kTable = {Sum<T>, Squares<T>, Dots<T>, Normalize<T>, Gradient<T>};

}  // namespace

const ColumnKernels<float>& FloatColumns() { return kTable<float>; }
const ColumnKernels<double>& DoubleColumns() { return kTable<double>; }

}  // namespace hr::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hr::cpu {
namespace {

HWY_EXPORT(FloatColumns);
HWY_EXPORT(DoubleColumns);

template <typename T>
const ColumnKernels<T>& KernelsForColumns() {
  if constexpr (sizeof(T) == sizeof(float))
    return HWY_DYNAMIC_DISPATCH(FloatColumns)();
  else
    return HWY_DYNAMIC_DISPATCH(DoubleColumns)();
}

// A call's memory: two sums of each task and column, and four coefficients of each column.
template <typename T>
class Columns {
 public:
  Columns(const Lease& threads, const ColumnShape& shape, int tasks, void* scratch)
      : threads_(threads),
        s_(shape),
        tasks_(tasks),
        sums_(static_cast<double*>(scratch)),
        coefficients_(reinterpret_cast<T*>(sums_ + 2 * tasks * shape.channels)) {}

  static size_t ScratchBytes(const ColumnShape& s, int tasks) {
    const auto channels = static_cast<size_t>(s.channels);
    return 2 * static_cast<size_t>(tasks) * channels * sizeof(double) + 4 * channels * sizeof(T);
  }

  // Coefficient i of each column.
  T* of(int i) { return coefficients_ + i * s_.channels; }

  // Calls body(first element, rows) for the rows of each task.
  template <typename Body>
  void ForRows(const Body& body) {
    threads_.ParallelFor(tasks_, [&](int task) {
      const Range rows = PartOf(s_.rows, tasks_, task);
      body(rows.begin * s_.channels, rows.size());
    });
  }
  // Calls body(first element, rows, sums, products) likewise, and adds up: the sums of all rows
  // are those of the first task then.
  template <typename Body>
  void Add(const Body& body) {
    threads_.ParallelFor(tasks_, [&](int task) {
      const Range rows = PartOf(s_.rows, tasks_, task);
      double* const sums = sums_ + 2 * task * s_.channels;
      std::fill_n(sums, 2 * s_.channels, 0.0);
      body(rows.begin * s_.channels, rows.size(), sums, sums + s_.channels);
    });
    for (int task = 1; task < tasks_; ++task) {
      const double* const part = sums_ + 2 * task * s_.channels;
      for (int64_t i = 0; i < 2 * s_.channels; ++i) sums_[i] += part[i];
    }
  }
  double sum(int64_t c) const { return sums_[c]; }
  double product(int64_t c) const { return sums_[s_.channels + c]; }
  double mean(int64_t c) const { return sum(c) / static_cast<double>(s_.rows); }

  // The statistics of x: its means in coefficient 0, its variances in `variances`.
  void Moments(const T* x, T* variances) {
    const ColumnKernels<T>& kernels = KernelsForColumns<T>();
    Add([&](int64_t at, int64_t rows, double* sums, double*) {
      kernels.sum(x + at, rows, s_.channels, sums);
    });
    for (int64_t c = 0; c < s_.channels; ++c) of(0)[c] = static_cast<T>(mean(c));
    Add([&](int64_t at, int64_t rows, double* sums, double*) {
      kernels.squares(x + at, rows, s_.channels, of(0), sums);
    });
    for (int64_t c = 0; c < s_.channels; ++c) variances[c] = static_cast<T>(mean(c));
  }

  // y, with the means in coefficient 0 and the factors in coefficient 1.
  void Normalize(const T* x, const T* bias, T* y) {
    ForRows([&](int64_t at, int64_t rows) {
      KernelsForColumns<T>().normalize(x + at, rows, s_.channels, of(0), of(1), bias, y + at);
    });
  }

 private:
  const Lease& threads_;
  const ColumnShape s_;
  const int tasks_;
  double* const sums_;
  T* const coefficients_;
};

double InverseOf(double variance, double epsilon) { return 1 / std::sqrt(variance + epsilon); }

}  // namespace

template <typename T>
size_t ColumnScratchBytes(const ColumnShape& shape, int tasks) {
  return Columns<T>::ScratchBytes(shape, tasks);
}

template <typename T>
void NormalizeColumns(const Lease& threads, const ColumnShape& shape, double epsilon, const T* x,
                      const T* scale, const T* bias, const T* mean, const T* variance, T* y,
                      int tasks, void* scratch) {
  Columns<T> columns(threads, shape, tasks, scratch);
  for (int64_t c = 0; c < shape.channels; ++c) {
    columns.of(0)[c] = mean[c];
    columns.of(1)[c] = static_cast<T>(scale[c] * InverseOf(variance[c], epsilon));
  }
  columns.Normalize(x, bias, y);
}

template <typename T>
void TrainColumns(const Lease& threads, const ColumnShape& shape, double epsilon, const T* x,
                  const T* scale, const T* bias, T* y, const RunningStatistics<T>& running,
                  int tasks, void* scratch) {
  Columns<T> columns(threads, shape, tasks, scratch);
  columns.Moments(x, columns.of(1));
  const auto mix = [&](T old, T now) {
    return static_cast<T>(running.momentum * old + (1 - running.momentum) * now);
  };
  for (int64_t c = 0; c < shape.channels; ++c) {
    const T mean = columns.of(0)[c], variance = columns.of(1)[c];
    columns.of(1)[c] = static_cast<T>(scale[c] * InverseOf(variance, epsilon));
    if (running.mean != nullptr) running.mean[c] = mix(running.old_mean[c], mean);
    if (running.variance != nullptr) {
      running.variance[c] = mix(running.old_variance[c], variance);
    }
  }
  columns.Normalize(x, bias, y);
}

template <typename T>
void NormalizeColumnsGrad(const Lease& threads, const ColumnShape& shape, double epsilon,
                          const T* dy, const T* x, const T* scale, const T* mean, const T* variance,
                          T* dx, T* dscale, T* dbias, int tasks, void* scratch) {
  Columns<T> columns(threads, shape, tasks, scratch);
  const bool given = mean != nullptr;
  if (given) {
    std::copy_n(mean, shape.channels, columns.of(0));
    std::copy_n(variance, shape.channels, columns.of(1));
  } else {
    columns.Moments(x, columns.of(1));
  }
  columns.Add([&](int64_t at, int64_t rows, double* sums, double* products) {
    KernelsForColumns<T>().dots(dy + at, x + at, rows, shape.channels, columns.of(0), sums,
                                products);
  });
  // Statistics that were given do not depend on x.
  const double share = given ? 0 : 1 / static_cast<double>(shape.rows);
  for (int64_t c = 0; c < shape.channels; ++c) {
    const double inverse = InverseOf(columns.of(1)[c], epsilon);
    const double sum = columns.sum(c), product = columns.product(c) * inverse;
    columns.of(1)[c] = static_cast<T>(scale[c] * inverse);
    columns.of(2)[c] = static_cast<T>(sum * share);
    columns.of(3)[c] = static_cast<T>(inverse * product * share);
    dscale[c] = static_cast<T>(product);
    dbias[c] = static_cast<T>(sum);
  }
  columns.ForRows([&](int64_t at, int64_t rows) {
    KernelsForColumns<T>().gradient(dy + at, x + at, rows, shape.channels, columns.of(0),
                                    columns.of(1), columns.of(2), columns.of(3), dx + at);
  });
}

#define HR_INSTANTIATE(T)                                                                          \
  template size_t ColumnScratchBytes<T>(const ColumnShape&, int);                                  \
  template void NormalizeColumns(const Lease&, const ColumnShape&, double, const T*, const T*,     \
                                 const T*, const T*, const T*, T*, int, void*);                    \
  template void TrainColumns(const Lease&, const ColumnShape&, double, const T*, const T*,         \
                             const T*, T*, const RunningStatistics<T>&, int, void*);               \
  template void NormalizeColumnsGrad(const Lease&, const ColumnShape&, double, const T*, const T*, \
                                     const T*, const T*, const T*, T*, T*, T*, int, void*)
HR_INSTANTIATE(float);
HR_INSTANTIATE(double);
#undef HR_INSTANTIATE

}  // namespace hr::cpu
#endif
