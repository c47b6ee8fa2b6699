// Running sums, the largest elements of a line, and triangles of matrices. Nothing is allocated.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/executor.h"

namespace hr::cpu {

// Along the middle axis of [outer, n, inner]. float, double, int32_t, int64_t. y may be x.
struct ScanShape {
  int64_t outer, n, inner;
  bool exclusive, reverse;
};
template <typename T>
void CumSum(const ScanShape& shape, const T* x, T* y);

// The k most extreme elements of each line of [outer, n, inner] in order, and where they are. Of
// equal ones the first comes first; NaN counts as larger than any number.
struct TopKShape {
  int64_t outer, n, inner, k;
  bool largest;
};
int TopKRanges(const TopKShape& shape, int slices);
inline size_t TopKScratchBytes(const TopKShape& shape, int ranges) {
  return static_cast<size_t>(shape.n) * static_cast<size_t>(ranges) * sizeof(int64_t);
}
template <typename T>
void TopK(const Lease& threads, const TopKShape& shape, const T* x, T* values, int64_t* indices,
          int ranges, void* scratch);

// Keeps of each rows x columns matrix what lies on or above (below) the diagonal `k` places to the
// right of the main one; zero elsewhere. y may be x.
void Triangle(int64_t matrices, int64_t rows, int64_t columns, int64_t k, bool upper,
              size_t element_bytes, const void* x, void* y);

}  // namespace hr::cpu
