// Softmax along the middle axis of [outer, n, inner], its logarithm and their gradients, once per
// instruction set. A line is the n elements of one (outer, inner) pair; lines are worked on in
// groups of up to kLineGroup: of rows where inner is 1, else of adjacent columns of one outer
// index.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backends/cpu/kernels/partition.h"

namespace hr::cpu {

template <typename T>
inline constexpr int64_t kLineGroup = 64 / sizeof(T);

struct LineShape {
  int64_t outer = 0, n = 0, inner = 1;

  int64_t lines() const { return outer * inner; }
};

// Some lines that lie side by side: line i begins at `offset` + i * `step`, its elements are
// `stride` apart.
struct LineGroup {
  int64_t first_line, count;
  int64_t offset, step, stride;
};

template <typename T>
int64_t LineGroups(const LineShape& shape) {
  constexpr int64_t kGroup = kLineGroup<T>;
  if (shape.inner == 1) return CeilDiv(shape.outer, kGroup);
  return shape.outer * CeilDiv(shape.inner, kGroup);
}

template <typename T>
LineGroup LineGroupAt(const LineShape& shape, int64_t group) {
  constexpr int64_t kGroup = kLineGroup<T>;
  if (shape.inner == 1) {
    const int64_t first = group * kGroup;
    return {first, std::min(kGroup, shape.outer - first), first * shape.n, shape.n, 1};
  }
  const int64_t groups = CeilDiv(shape.inner, kGroup);
  const int64_t outer = group / groups;
  const int64_t column = group % groups * kGroup;
  return {outer * shape.inner + column, std::min(kGroup, shape.inner - column),
          outer * shape.n * shape.inner + column, 1, shape.inner};
}

// The functions work on the groups [begin, end). An output may be the memory of any input. A NaN
// makes its whole line NaN.
template <typename T>
struct LineKernels {
  using UnaryKernel = void (*)(const LineShape&, const T* x, T* y, int64_t begin, int64_t end);
  using GradientKernel = void (*)(const LineShape&, const T* dy, const T* y, T* dx, int64_t begin,
                                  int64_t end);

  UnaryKernel softmax;
  UnaryKernel log_softmax;
  GradientKernel softmax_grad;      // y (dy - sum of dy y)
  GradientKernel log_softmax_grad;  // dy - exp(y) sum of dy
  // For each line of the group: its largest element, and the logarithm of the sum of
  // exp(x - largest). Both have kLineGroup elements.
  void (*log_sums)(const LineShape&, const T* x, const LineGroup&, T* largest, T* log_sum);
  // y = x - largest - log_sum
  void (*log_probabilities)(const LineShape&, const T* x, const LineGroup&, const T* largest,
                            const T* log_sum, T* y);
  // y = exp(x) * factors[line of the group]; x is not above 0.
  void (*exp_scaled)(const LineShape&, const T* x, const LineGroup&, const T* factors, T* y);
};

// The kernels for this CPU.
template <typename T>
const LineKernels<T>& KernelsForLines();

}  // namespace hr::cpu
