// Determinants of square matrices and their gradients, by elimination in double. Each range of
// matrices needs scratch memory of its own; nothing is allocated. float and double.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/executor.h"

namespace hr::cpu {

// `count` matrices n x n.
struct MatricesShape {
  int64_t count = 1, n = 1;
};
int DeterminantRanges(const MatricesShape& shape, int slices);

// y[i] = det(x[i]).
template <typename T>
void Determinants(const Lease& threads, const MatricesShape& shape, const T* x, T* y, int ranges,
                  double* scratch);
// In doubles.
inline size_t DeterminantScratch(const MatricesShape& shape, int ranges) {
  return static_cast<size_t>(shape.n) * static_cast<size_t>(shape.n) * static_cast<size_t>(ranges);
}

// dx[i] = dy[i] times the cofactors of x[i], which also exist where x[i] is singular. With
// P A Q = L U (complete pivoting), the adjugate of A is det(P) det(Q) Q adj(U) inv(L) P, and adj(U)
// does not divide by U's last pivot; if one before is 0, so are all cofactors.
template <typename T>
void DeterminantGradients(const Lease& threads, const MatricesShape& shape, const T* dy, const T* x,
                          T* dx, int ranges, double* scratch);
inline size_t DeterminantGradientScratch(const MatricesShape& shape, int ranges) {
  const auto n = static_cast<size_t>(shape.n);
  return (2 * n * n + 2 * n) * static_cast<size_t>(ranges);
}

}  // namespace hr::cpu
