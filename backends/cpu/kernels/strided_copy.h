// Copies between two strided places: transposes, slices, repetition and joining are all this.
// Elements of 1, 2, 4 and 8 bytes; nothing is allocated.
#pragma once

#include <cstddef>
#include <span>

#include "backends/cpu/kernels/axes.h"
#include "runtime/base/executor.h"
#include "runtime/base/result.h"

namespace hr::cpu {

// Element i of the box goes from from[i · from.strides] to to[i · to.strides]; both have the same
// dims. Axes of size 1 are gone and neighbours joined. The last axis is the fastest in `to`, where
// the last but one may be the fastest in `from`.
struct CopyPlan {
  Axes to, from;
  size_t element_bytes = 0;
  int ranges = 1;
  int split = 0;  // the axis along which ranges are cut
};

// Strides are in elements. Places of `to` must differ from each other and lie outside `from`.
// A failure where more than kMaxAxes axes remain.
Result<CopyPlan> PlanCopy(size_t element_bytes, std::span<const int64_t> dims,
                          std::span<const int64_t> to_strides,
                          std::span<const int64_t> from_strides, int slices);

// `from` and `to` point at element 0 of the box.
void StridedCopy(const Lease& threads, const CopyPlan& plan, const void* from, void* to);

// Fills `count` elements with the one at `value`.
int FillRanges(int64_t count, size_t element_bytes, int slices);
void FillElements(const Lease& threads, int64_t count, size_t element_bytes, const void* value,
                  void* to, int ranges);

}  // namespace hr::cpu
