// The inner loops of int8_gemm.cc, once per instruction set.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/int8_gemm.h"
#include "backends/cpu/kernels/panels.h"

namespace hr::cpu {

inline constexpr int kMaxInt8Rows = 32;
inline constexpr int kMaxInt8Width = 32;  // columns of a panel
inline constexpr int64_t kQuad = 4;       // terms of a sum that one lane adds at once

// Both operands as they are encoded (Int8Kernels); the panel is what lies behind the sums of its
// columns.
using Int8TileCall = PanelTileCall<uint8_t, int8_t, int32_t>;

// C [rows][columns] = epilogue(tile). Pointers are those of the tile's first row and column.
struct Int8FinishCall {
  int64_t rows = 0, columns = 0;
  const int32_t* tile = nullptr;
  const int32_t* column_sums = nullptr;  // of the panel
  const int32_t* row_terms = nullptr;    // k * a_zero - the sum of the row of A; null: b_zero is 0
  void* c = nullptr;
  int64_t ldc = 0;
  Int8Epilogue epilogue;
};

// A is encoded as unsigned and B as signed numbers, which is what instructions for sums of four
// products take: the other kind is shifted by 128, and so is its zero point.
//
// A panel has `width` columns: their sums (int32), and then, for each quad of k, four numbers of
// each column. What is missing of the last quad and the last panel is 0.
struct Int8Kernels {
  int width = 0;      // of a panel
  int rows = 0;       // of the largest tile
  bool vnni = false;  // of AVX-512 with sums of four products
  // [A is signed][rows - 1]
  void (*tile[2][kMaxInt8Rows])(const Int8TileCall&) = {};
  // Called by each thread behind its last tile: gives back what of the processor they took.
  void (*release)() = [] {};
  void (*finish)(const Int8FinishCall&) = nullptr;
  // The panel of `count` columns of B [k][ldb], and of B transposed [count][ldb].
  void (*pack)(const uint8_t* b, int64_t ldb, int64_t count, int64_t k, bool b_signed,
               int32_t* panel) = nullptr;
  void (*pack_transposed)(const uint8_t* b, int64_t ldb, int64_t count, int64_t k, bool b_signed,
                          int32_t* panel) = nullptr;
  // The sum of an encoded row of A.
  int32_t (*row_sum)(const uint8_t* a, int64_t k, bool a_signed) = nullptr;
};

const Int8Kernels& KernelsForInt8();

}  // namespace hr::cpu
