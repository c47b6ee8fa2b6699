#include "backends/cpu/kernels/normalization_channels_last.h"

#include <algorithm>

#include "backends/cpu/kernels/column_kernels.h"
#include "backends/cpu/kernels/partition.h"

namespace hr::cpu {
namespace {

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
  void ForRows(const Body& body) const {
    threads_.ParallelFor(tasks_, [&](int task) {
      const Range rows = PartOf(s_.rows, tasks_, task);
      body(rows.begin * s_.channels, rows.size());
    });
  }

  // The sums of the tasks, which body(first element, rows, one, other) adds to: sum(c) and
  // product(c) then.
  template <typename Body>
  void Add(const Body& body) {
    ForSums(body);
    for (int task = 1; task < tasks_; ++task) {
      const double* const part = PartSums(task);
      for (int64_t i = 0; i < 2 * s_.channels; ++i) sums_[i] += part[i];
    }
  }
  double sum(int64_t c) const { return sums_[c]; }
  double product(int64_t c) const { return sums_[s_.channels + c]; }

  // Calls visit(column, moments) for the statistics of x.
  template <typename Visit>
  void ForMoments(const T* x, const Visit& visit) {
    ForSums([&](int64_t at, int64_t rows, double* means, double* squares) {
      KernelsForColumns<T>().moments(x + at, rows, s_.channels, means, squares);
    });
    for (int64_t c = 0; c < s_.channels; ++c) {
      Moments all;
      for (int task = 0; task < tasks_; ++task) {
        const double* const part = PartSums(task);
        const auto rows = static_cast<double>(PartOf(s_.rows, tasks_, task).size());
        all.Add({rows, part[c], part[s_.channels + c]});
      }
      visit(c, all);
    }
  }

  // y of the means and factors in coefficients 0 and 1.
  void Normalize(const T* x, const T* bias, const ChannelTail<T>& tail, T* y) {
    const ColumnLines<T> lines{of(0), of(1), bias};
    const auto normalize = KernelsForColumns<T>().normalize[tail.relu ? 1 : 0];
    ForRows([&](int64_t at, int64_t rows) {
      normalize(x + at, rows, s_.channels, lines,
                tail.residual == nullptr ? nullptr : tail.residual + at, y + at);
    });
  }

 private:
  double* PartSums(int task) const { return sums_ + 2 * task * s_.channels; }
  template <typename Body>
  void ForSums(const Body& body) const {
    threads_.ParallelFor(tasks_, [&](int task) {
      const Range rows = PartOf(s_.rows, tasks_, task);
      double* const sums = PartSums(task);
      std::fill_n(sums, 2 * s_.channels, 0.0);
      body(rows.begin * s_.channels, rows.size(), sums, sums + s_.channels);
    });
  }

  const Lease& threads_;
  const ColumnShape s_;
  const int tasks_;
  double* const sums_;
  T* const coefficients_;
};

// The statistics are rounded before they are used: the gradient's ReLU must meet the same numbers.
template <typename T>
T FactorOf(T scale, T variance, double epsilon) {
  return static_cast<T>(scale * InverseDeviation(variance, epsilon));
}

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
    columns.of(1)[c] = FactorOf(scale[c], variance[c], epsilon);
  }
  columns.Normalize(x, bias, {}, y);
}

template <typename T>
void TrainColumns(const Lease& threads, const ColumnShape& shape, double epsilon, const T* x,
                  const T* scale, const T* bias, const ChannelTail<T>& tail, T* y,
                  const TrainingStatistics<T>& statistics, int tasks, void* scratch) {
  Columns<T> columns(threads, shape, tasks, scratch);
  columns.ForMoments(x, [&](int64_t c, const Moments& moments) {
    statistics.Put(c, moments.mean, moments.variance());
    columns.of(0)[c] = static_cast<T>(moments.mean);
    columns.of(1)[c] = FactorOf(scale[c], static_cast<T>(moments.variance()), epsilon);
  });
  columns.Normalize(x, bias, tail, y);
}

template <typename T>
void NormalizeColumnsGrad(const Lease& threads, const ColumnShape& shape, double epsilon,
                          const T* dy, const T* x, const T* scale, const ChannelsBefore<T>& before,
                          T* dx, T* dscale, T* dbias, int tasks, void* scratch) {
  Columns<T> columns(threads, shape, tasks, scratch);
  const ColumnKernels<T>& kernels = KernelsForColumns<T>();
  T *const means = columns.of(0), *const factors = columns.of(1), *const slopes = columns.of(3);
  if (before.mean != nullptr) {
    std::copy_n(before.mean, shape.channels, means);
    std::copy_n(before.variance, shape.channels, slopes);
  } else {
    columns.ForMoments(x, [&](int64_t c, const Moments& moments) {
      means[c] = static_cast<T>(moments.mean);
      slopes[c] = static_cast<T>(moments.variance());
    });
  }
  for (int64_t c = 0; c < shape.channels; ++c) factors[c] = FactorOf(scale[c], slopes[c], epsilon);
  const ColumnLines<T> lines{means, factors, before.bias};
  const int relu = before.bias == nullptr ? 0 : 1;
  columns.Add([&](int64_t at, int64_t rows, double* sums, double* products) {
    kernels.dots[relu](dy + at, x + at, rows, shape.channels, lines, sums, products);
  });
  // Statistics that were given do not depend on x.
  const double share = before.given ? 0 : 1 / static_cast<double>(shape.rows);
  for (int64_t c = 0; c < shape.channels; ++c) {
    const double inverse = shape.rows == 0 ? 0 : InverseDeviation(slopes[c], epsilon);
    const double product = columns.product(c) * inverse;
    columns.of(2)[c] = static_cast<T>(columns.sum(c) * share);
    slopes[c] = static_cast<T>(inverse * product * share);
    dscale[c] = static_cast<T>(product);
    dbias[c] = static_cast<T>(columns.sum(c));
  }
  columns.ForRows([&](int64_t at, int64_t rows) {
    kernels.gradient[relu](dy + at, x + at, rows, shape.channels, lines, columns.of(2), slopes,
                           dx + at);
  });
}

#define HR_INSTANTIATE(T)                                                                          \
  template size_t ColumnScratchBytes<T>(const ColumnShape&, int);                                  \
  template void NormalizeColumns(const Lease&, const ColumnShape&, double, const T*, const T*,     \
                                 const T*, const T*, const T*, T*, int, void*);                    \
  template void TrainColumns(const Lease&, const ColumnShape&, double, const T*, const T*,         \
                             const T*, const ChannelTail<T>&, T*, const TrainingStatistics<T>&,    \
                             int, void*);                                                          \
  template void NormalizeColumnsGrad(const Lease&, const ColumnShape&, double, const T*, const T*, \
                                     const T*, const ChannelsBefore<T>&, T*, T*, T*, int, void*)
HR_INSTANTIATE(float);
HR_INSTANTIATE(double);
#undef HR_INSTANTIATE

}  // namespace hr::cpu
