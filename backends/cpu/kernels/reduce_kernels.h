// The inner loops of reductions, once per instruction set.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/axes.h"
#include "backends/cpu/kernels/partition.h"

namespace hr::cpu {

// What is reduced and what is kept, with axes of size 1 gone and neighbours joined. Where the
// innermost axis is reduced (`columns` is 1, `stride` is 1) an output is the reduction of rows;
// else outputs come `columns` at a time and the innermost axis of the reduction has steps of
// `stride`.
struct ReduceShape {
  Axes kept;     // of x, without the columns
  Axes reduced;  // of x, without the innermost one of them
  int64_t length = 1, stride = 1;
  int64_t columns = 1;

  bool rows() const { return stride == 1 && columns == 1; }
  int64_t outputs() const { return kept.elements() * columns; }
  int64_t per_output() const { return reduced.elements() * length; }
};

// kSumExp sums exp(x - shift of the output); only for floating-point types.
enum class Fold : uint8_t { kSum, kSumSquare, kSumAbs, kMax, kMin, kProd, kSumExp, kCount };

// Columns that are folded together.
template <typename T>
inline constexpr int64_t kColumnBlock = 512 / sizeof(T);

// Pieces of work: outputs for rows, blocks of columns of one output of `kept` else.
template <typename T>
int64_t ReduceUnits(const ReduceShape& shape) {
  return shape.kept.elements() * CeilDiv(shape.columns, kColumnBlock<T>);
}
// The first output of a unit.
template <typename T>
int64_t FirstOutput(const ReduceShape& shape, int64_t unit) {
  const int64_t blocks = CeilDiv(shape.columns, kColumnBlock<T>);
  return unit / blocks * shape.columns + unit % blocks * kColumnBlock<T>;
}

template <typename T>
struct FoldKernels {
  // y = the folds of the units [begin, end), exact to a few units in the last place however many
  // elements there are (pairwise summation). NaN goes through all folds.
  using FoldRange = void (*)(const ReduceShape&, const T* x, const T* shift, T* y, int64_t begin,
                             int64_t end);
  FoldRange rows[static_cast<int>(Fold::kCount)];
  FoldRange columns[static_cast<int>(Fold::kCount)];
};

// The kernels for this CPU: float, double, int32_t, int64_t.
template <typename T>
const FoldKernels<T>& KernelsForReduce();

}  // namespace hr::cpu
