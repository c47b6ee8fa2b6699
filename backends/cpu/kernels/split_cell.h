// What one thread does of a product of float32 on a matrix unit (split_kernels.h), and how such a
// product is cut.
#pragma once

#include <cstddef>

#include "backends/cpu/kernels/gemm_plan.h"
#include "backends/cpu/kernels/split_kernels.h"

namespace hr::cpu {

// A cell, cut so that rows of A and columns of B stay in the second-level cache together.
struct SplitBlocks {
  SplitBlocks(int64_t m, int64_t n, int64_t k);

  size_t scratch_bytes() const { return a_bytes + b_bytes; }

  int64_t m, n, k;
  size_t a_bytes, b_bytes;
};

// Whether the unit computes an m x n x k product sooner than multiply-adds of vectors do.
bool SplitPays(int64_t m, int64_t n, int64_t k);
// Each cell of the grid is a task.
GemmGrid MakeSplitGrid(int64_t m, int64_t n, int64_t k, int slices);

// One cell of the grid, on one thread. `b_panel` is the distance of the panels of a B made by
// PackB; the scratch is aligned to a cache line.
void RunSplitCell(const SplitKernels& unit, const GemmKernels<float>& kernels,
                  const Product<float>& product, const SplitBlocks& blocks, int64_t b_panel,
                  void* scratch);

}  // namespace hr::cpu
