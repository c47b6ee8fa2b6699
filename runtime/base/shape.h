// Concrete shapes: dimensions in elements, outermost first. Graphs, whose dimensions may be
// symbolic, have their own type (runtime/graph/type.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/base/result.h"

namespace hr {

using Dims = std::vector<int64_t>;

// The number of elements; a failure if a dimension is negative or the product overflows.
Result<int64_t> CheckedElementCount(std::span<const int64_t> dims);
// The same for dims known to be valid.
int64_t ElementCount(std::span<const int64_t> dims);
// Row-major strides, in elements.
Dims ContiguousStrides(std::span<const int64_t> dims);
// NumPy broadcasting of two shapes; a failure names both.
Result<Dims> BroadcastDims(std::span<const int64_t> a, std::span<const int64_t> b);
// Maps -1 … -rank to the end; a failure if axis lies outside [-rank, rank).
Result<int64_t> NormalizeAxis(int64_t axis, int64_t rank);

}  // namespace hr
