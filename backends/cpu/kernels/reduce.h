// Reductions over axes, and positions of extremes along one, for float, double, int32_t and
// int64_t. Nothing is allocated; results depend on the plan, never on how many threads the lease
// has. Integers wrap around.
#pragma once

#include <span>
#include <vector>

#include "backends/cpu/kernels/reduce_kernels.h"
#include "runtime/base/executor.h"
#include "runtime/base/result.h"

namespace hr::cpu {

enum class Reduction : uint8_t {
  kSum,
  kMean,
  kMax,
  kMin,
  kProd,
  kSumSquare,
  kL1,
  kL2,
  kLogSum,
  kLogSumExp
};

struct ReducePlan {
  ReduceShape shape;
  Reduction reduction;
  int ranges = 1;  // of units
  // Where there are too few outputs for all threads, one axis of the reduction is cut into as many
  // parts, which are folded by themselves first: axis `split` of shape.reduced, or its length where
  // that is -1.
  int parts = 1;
  int split = -1;
  size_t scratch_bytes = 0;
};

// `reduced`: for each of `dims`, whether it is. A failure where more than kMaxAxes axes remain.
template <typename T>
Result<ReducePlan> PlanReduce(Reduction reduction, std::span<const int64_t> dims,
                              const std::vector<bool>& reduced, int slices);

// `scratch` has plan.scratch_bytes. Over no elements a sum is 0, a product 1, an extreme the type's
// furthest value; the mean of floating-point numbers is NaN then, of integers 0.
template <typename T>
void Reduce(const Lease& threads, const ReducePlan& plan, const T* x, T* y, void* scratch);

// Where along the middle axis of [outer, n, inner] the largest (or smallest) element is; of equal
// ones the first, or the last. A NaN is more extreme than any number. n is not 0.
struct ArgShape {
  int64_t outer, n, inner;
  bool smallest, last;
};
int ArgRanges(const ArgShape& shape, int slices);
template <typename T>
void ArgReduce(const Lease& threads, const ArgShape& shape, const T* x, int64_t* y, int ranges);

}  // namespace hr::cpu
