// Concrete shapes: dimensions in elements, outermost first. Graphs, whose dimensions may be
// symbolic, have their own type (runtime/graph/type.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/base/result.h"

namespace hr {

using Dims = std::vector<int64_t>;

// A tensor's dimensions, those of size 0 aside, and the bytes of an element multiply to at most
// this: more than any machine addresses, and so little that strides, products of some dimensions,
// sizes rounded up to blocks and sums over a few operands fit into 64 bits.
inline constexpr int64_t kMaxTensorBytes = int64_t{1} << 56;

// Returns the number of elements. Fails if a dimension is negative or if the limit above is passed;
// like in NumPy, a dimension of size 0 does not make up for others that are too large.
Result<int64_t> CheckedElementCount(std::span<const int64_t> dims, size_t element_bytes = 1);
// The same for dims known to be valid.
int64_t ElementCount(std::span<const int64_t> dims);
// Row-major strides, in elements.
Dims ContiguousStrides(std::span<const int64_t> dims);
// NumPy broadcasting of two shapes; a failure names both.
Result<Dims> BroadcastDims(std::span<const int64_t> a, std::span<const int64_t> b);
// Maps -1 … -rank to the end; a failure if axis lies outside [-rank, rank).
Result<int64_t> NormalizeAxis(int64_t axis, int64_t rank);

}  // namespace hr
