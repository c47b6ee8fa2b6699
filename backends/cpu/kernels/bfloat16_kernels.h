// The inner loops of bfloat16_gemm.cc: AVX-512 with products of bfloat16, and the matrix unit.
#pragma once

#include <span>

#include "backends/cpu/kernels/bfloat16_gemm.h"
#include "backends/cpu/kernels/panels.h"

namespace hr::cpu {

inline constexpr int kMaxBfloat16Rows = 32;
inline constexpr int kBfloat16Width = 32;  // columns of a panel

inline constexpr int64_t kOneSpan[] = {0};

// tile [rows][32] = A [rows][spans x k] times a panel. A row of A is one or more spans of k
// numbers, which begin at these distances from it; k is even if there are several.
struct Bfloat16TileCall {
  int rows = 0;
  int64_t k = 0;
  const uint16_t* a = nullptr;
  int64_t lda = 0;
  const uint16_t* panel = nullptr;
  float* tile = nullptr;
  std::span<const int64_t> spans = kOneSpan;
};

// C [rows][columns] = epilogue(tile). Pointers are those of the tile's first row and column.
struct Bfloat16FinishCall {
  int64_t rows = 0, columns = 0;
  const float* tile = nullptr;
  void* c = nullptr;
  int64_t ldc = 0;
  Bfloat16Epilogue epilogue;
};

// A panel has 32 columns: for each pair of k, two numbers of each column. What is missing of the
// last pair and the last panel is 0.
struct Bfloat16Kernels {
  int rows = 0;  // of the largest tile
  // [rows - 1]
  void (*tile[kMaxBfloat16Rows])(const Bfloat16TileCall&) = {};
  // Called by each thread behind its last tile: gives back what of the processor they took.
  void (*release)() = [] {};
  void (*finish)(const Bfloat16FinishCall&) = nullptr;
  // The panel of `count` columns of B [k][ldb], and of B transposed [count][ldb].
  void (*pack)(const uint16_t* b, int64_t ldb, int64_t count, int64_t k, uint16_t* panel) = nullptr;
  void (*pack_transposed)(const uint16_t* b, int64_t ldb, int64_t count, int64_t k,
                          uint16_t* panel) = nullptr;
  // The panel of the `count` numbers that begin at each place.
  void (*pack_places)(const uint16_t* from, std::span<const int32_t> places, int64_t count,
                      uint16_t* panel) = nullptr;
  // to [count][ldto] = A transposed: `a` is [k][lda]. Nothing behind k is written.
  void (*transpose)(const uint16_t* a, int64_t lda, int64_t count, int64_t k, uint16_t* to,
                    int64_t ldto) = nullptr;
};

// KernelsForBfloat16 without the matrix unit.
const Bfloat16Kernels* VectorsForBfloat16();

}  // namespace hr::cpu
