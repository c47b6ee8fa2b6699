// Running sums and products, the largest elements of a line, and triangles of matrices. Nothing is
// allocated.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/executor.h"

namespace hr::cpu {

// Along the middle axis of [outer, n, inner]. float, double, int32_t, int64_t; integers wrap
// around. y may be x.
struct ScanShape {
  int64_t outer, n, inner;
  bool exclusive, reverse;
};
template <typename T>
void CumSum(const ScanShape& shape, const T* x, T* y);
template <typename T>
void CumProd(const ScanShape& shape, const T* x, T* y);

// What dy, the gradient of the running products of x, says of x. float and double. dx may be
// neither dy nor x; `products` has room for n numbers. With p[k], the product of what is before k,
// and
//   s[k] = dy[k] + x[k + 1] s[k + 1]   (exclusive: dy[k + 1] + x[k + 1] s[k + 1]),
// dx[k] = p[k] s[k], of which each may lie outside of T's range where the other brings it back.
template <typename T>
void CumProdGradient(const ScanShape& shape, const T* dy, const T* x, T* dx, double* products);

// Any numbers. The k most extreme elements of each line of [outer, n, inner] in order, and where
// they are. Of equal ones the first comes first; NaN counts as larger than any number.
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
