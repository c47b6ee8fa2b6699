// Passes over some rows of a matrix of `channels` columns, for the normalization of channels, once
// per instruction set. Arrays have an element a column.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/moments.h"

namespace hr::cpu {

// A normalized element is (x - mean) factor + bias.
template <typename T>
struct ColumnLines {
  const T *mean, *factor, *bias;
};

// Where a ReLU follows ([1]), d is dy where the normalized element is above 0, and else 0; without
// one it is dy, and bias may be null.
template <typename T>
struct ColumnKernels {
  // The means of the rows, and the sums of squares about them (Moments).
  void (*moments)(const T* x, int64_t rows, int64_t channels, double* means, double* squares);
  // y = the normalized elements, plus those of the residual unless it is null.
  void (*normalize[2])(const T* x, int64_t rows, int64_t channels, const ColumnLines<T>& lines,
                       const T* residual, T* y);
  // sums += those of d, products += those of d (x - mean).
  void (*dots[2])(const T* dy, const T* x, int64_t rows, int64_t channels,
                  const ColumnLines<T>& lines, double* sums, double* products);
  // dx = (d - share - (x - mean) slope) factor
  void (*gradient[2])(const T* dy, const T* x, int64_t rows, int64_t channels,
                      const ColumnLines<T>& lines, const T* share, const T* slope, T* dx);
};

template <typename T>
const ColumnKernels<T>& KernelsForColumns();

}  // namespace hr::cpu
