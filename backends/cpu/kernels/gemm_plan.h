// How gemm.cc cuts a product: what plays which role, what is packed, and the grid of slices.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/gemm_kernels.h"
#include "backends/cpu/kernels/partition.h"

namespace hr::cpu {

inline constexpr int64_t kFirstLevelBytes = 32 << 10;

// An m x n x k product with an element of A at a[i * a_row + l * a_column], of B at
// b[l * b_row + j * b_column]; one stride of each is 1. The kernels repeat an element of A over a
// vector of B, so a product whose A suits vectors better is computed as its transpose.
template <typename T>
struct Product {
  int64_t m, n, k;
  const T* a = nullptr;
  int64_t a_row, a_column;
  const T* b = nullptr;
  int64_t b_row, b_column;
  T* c = nullptr;
  int64_t ldc;
  bool c_transposed = false;  // (i, j) is at c[j * ldc + i]
  bool b_packed = false;      // b was made by PackB
  bool dots = false;          // both contiguous in k, and too thin for vectors over n
  GemmEpilogue<T> epilogue;   // in terms of this product's rows and columns

  bool a_rows_contiguous() const { return a_row == 1; }
};

// Cuts m, n and k. Each cell of the grid is a task.
struct GemmGrid {
  int m = 1, n = 1, k = 1;
  int64_t m_step = 0, n_step = 0, k_step = 0;  // of a cell; the last ones may be smaller or empty
  int cells() const { return m * n * k; }
};

struct GemmBlocks {
  int64_t m, n, k;      // of a cell, cut again to fit the caches
  bool pack_a, pack_b;  // copy blocks in the kernels' order
  bool by_rows;         // tiles side by side follow each other, so that C is written in order
  int64_t a_elements, b_elements;
  int64_t scratch_elements() const { return a_elements + b_elements; }
};

// The product as the caller stated it, without operands.
template <typename T>
Product<T> PlainProduct(const GemmShape& shape, const GemmEpilogue<T>& epilogue);
// Chooses the roles: where C is transposed the caller's A is B, and its B is A.
template <typename T>
Product<T> MakeProduct(const GemmKernels<T>& kernels, const GemmShape& shape,
                       const GemmEpilogue<T>& epilogue);
// How many threads are worth waking for so many such products, of `slices`; at least 1.
template <typename T>
int UsefulSlices(const GemmKernels<T>& kernels, const Product<T>& product, int64_t count,
                 int slices);
template <typename T>
GemmGrid MakeGrid(const GemmKernels<T>& kernels, const Product<T>& product, int slices);
template <typename T>
GemmBlocks MakeBlocks(const GemmKernels<T>& kernels, const Product<T>& product,
                      const GemmGrid& grid);

}  // namespace hr::cpu
