// The inner loops of gemm.cc, once per instruction set.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/gemm.h"

namespace hr::cpu {

template <typename T>
struct ConvEpilogue;

// The largest tile of any instruction set, in rows and bytes of a row.
inline constexpr int kMaxTileRows = 12;
inline constexpr int kMaxTileRowBytes = 512;

// Panels are read in the order in which they lie. This far ahead memory is quick enough for thin
// products of weights that no cache holds: 16x1536x384 takes 95 instead of 130 us on a Zen 5.
inline constexpr int64_t kBytesAhead = 8192;
// Rows of a B that is not packed lie in other pages each, which processors fetch only when told.
inline constexpr int64_t kRowsAhead = 8;

// C tile = A tile * B panel, rows x columns, over k. B's rows are contiguous, `ldb` apart.
template <typename T>
struct TileCall {
  int64_t k = 0;
  const T* a = nullptr;
  int64_t a_stride = 0;  // between rows (k contiguous) or between columns (rows contiguous)
  const T* b = nullptr;
  int64_t ldb = 0;
  int64_t b_ahead = 0;  // how far before it is used B is fetched into the caches, in elements
  // What is fetched instead, if it is not null: as many columns, and `ahead_step` further each
  // time.
  const T* ahead = nullptr;
  int64_t ahead_step = 0;
  int64_t columns =
      0;  // in (lanes * (vectors - 1), lanes * vectors]; what lies beyond is not touched
  T* c = nullptr;
  int64_t ldc = 0;
  bool accumulate = false;  // add to C
  // Done to what C gets, if it is not null; its pointers are those of C's first element, and its
  // rows `ldc` apart. Only tiles of at most two vectors, of rows whose k is contiguous, take it.
  const ConvEpilogue<T>* end = nullptr;
};

// C rows x columns = epilogue(tile); the bias pointers are those of the tile's first element.
template <typename T>
struct FinishCall {
  int64_t rows, columns;
  const T* tile;
  int64_t tile_stride;
  T* c;
  int64_t ldc;
  GemmEpilogue<T> epilogue;
};

template <typename T>
struct GemmKernels {
  using TileKernel = void (*)(const TileCall<T>&);
  enum Width { kOneVector, kTwoVectors, kFourVectors, kEightVectors, kWidths };

  int lanes;               // elements of a vector
  int rows;                // of the largest tile
  int wide_rows[kWidths];  // of the largest tile of each width
  // [A's rows contiguous][width][rows - 1]; null for more rows than such tiles have.
  TileKernel tile[2][kWidths][kMaxTileRows];
  // dot[rows - 1]: rows of A times `dot_columns` rows of B, both contiguous in k. `ldb` is the
  // distance of B's rows; `columns` is at most dot_columns.
  static constexpr int kDotRows = 4;
  TileKernel dot[kDotRows];
  int dot_columns[kDotRows];
  // to[i * distance + j] = from[j * stride + i], i < k, j < count.
  void (*transpose)(const T* from, int64_t stride, int64_t count, int64_t k, T* to,
                    int64_t distance);
  // The same, and to[i * width + j] = 0 for count <= j < width.
  void (*pack_transposed)(const T* from, int64_t stride, int64_t count, int64_t k, T* to,
                          int64_t width);
  // to[i * width + j] = from[i * stride + j], the same ranges and zeros.
  void (*pack_rows)(const T* from, int64_t stride, int64_t count, int64_t k, T* to, int64_t width);
  void (*finish)(const FinishCall<T>&);
  // to[i] += from[i]
  void (*add)(const T* from, int64_t count, T* to);
};

// The kernels for this CPU.
template <typename T>
const GemmKernels<T>& KernelsForGemm();

}  // namespace hr::cpu
