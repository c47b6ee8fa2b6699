// What one thread does of a product.
#pragma once

#include <algorithm>
#include <utility>

#include "backends/cpu/kernels/gemm_plan.h"

namespace hr::cpu {

// The part of a product that starts at (i, j) and has m x n elements of C; all of k.
template <typename T>
Product<T> SubProduct(Product<T> p, int64_t i, int64_t j, int64_t m, int64_t n) {
  p.m = m;
  p.n = n;
  p.a += i * p.a_row;
  // Packed panels follow each other, each with all of k.
  p.b += p.b_packed ? j / p.b_row * p.b_row * p.k : j * p.b_column;
  p.c += p.c_transposed ? j * p.ldc + i : i * p.ldc + j;
  if (p.epilogue.row_bias) p.epilogue.row_bias += i;
  if (p.epilogue.column_bias) p.epilogue.column_bias += j;
  return p;
}

// Some of the terms of the sum over k. Only the first part scales C, only the last one has a bias
// and an activation.
template <typename T>
GemmEpilogue<T> EpilogueOfPart(const GemmEpilogue<T>& whole, bool first, bool last) {
  GemmEpilogue<T> part = whole;
  if (!first) part.beta = 1;
  if (!last) {
    part.row_bias = part.column_bias = nullptr;
    part.activation = Activation::kNone;
  }
  return part;
}

// One cell of the grid, on one thread.
template <typename T>
class Cell {
 public:
  // b_panel is the distance of the panels of a B made by PackB.
  Cell(const GemmKernels<T>& kernels, const Product<T>& product, const GemmBlocks& blocks,
       T* scratch, int64_t b_panel)
      : kernels_(kernels),
        p_(product),
        blocks_(blocks),
        packed_a_(scratch),
        packed_b_(scratch + blocks.a_elements),
        b_panel_(b_panel),
        width_(2 * kernels.lanes) {}

  void Run() {
    for (int64_t k = 0; k < p_.k || k == 0; k += blocks_.k) {
      const int64_t k_count = std::min(blocks_.k, p_.k - k);
      epilogue_ = EpilogueOfPart(p_.epilogue, k == 0, k + k_count >= p_.k);
      direct_ = !p_.c_transposed && epilogue_.alpha == 1 && !epilogue_.row_bias &&
                !epilogue_.column_bias && epilogue_.activation == Activation::kNone &&
                (epilogue_.beta == 0 || epilogue_.beta == 1);
      for (int64_t j = 0; j < p_.n; j += blocks_.n) {
        MultiplyColumns(k, k_count, j, std::min(blocks_.n, p_.n - j));
      }
      if (blocks_.k == 0) break;
    }
  }

 private:
  void MultiplyColumns(int64_t k, int64_t k_count, int64_t j, int64_t n) {
    const T* b = p_.b + k * p_.b_row + j * p_.b_column;
    if (p_.b_packed) b = p_.b + k * width_ + j / width_ * b_panel_;
    if (blocks_.pack_b) {
      PackBlockB(b, k_count, n);
      b = packed_b_;
    }
    for (int64_t i = 0; i < p_.m; i += blocks_.m) {
      const int64_t m = std::min(blocks_.m, p_.m - i);
      const T* a = p_.a + i * p_.a_row + k * p_.a_column;
      if (blocks_.pack_a) {
        PackBlockA(a, k_count, m);
        a = packed_a_;
      }
      Block(a, b, i, j, m, n, k_count);
    }
  }

  void PackBlockB(const T* b, int64_t k, int64_t n) {
    T* to = packed_b_;
    for (int64_t j = 0; j < n; j += width_, to += k * width_) {
      const int64_t count = std::min(width_, n - j);
      if (p_.b_column == 1) {
        kernels_.pack_rows(b + j, p_.b_row, count, k, to, width_);
      } else {
        kernels_.pack_transposed(b + j * p_.b_column, p_.b_column, count, k, to, width_);
      }
    }
  }

  void PackBlockA(const T* a, int64_t k, int64_t m) {
    T* to = packed_a_;
    ForRowTiles(m, [&](int64_t i, int64_t rows) {
      if (p_.a_rows_contiguous()) {
        kernels_.pack_rows(a + i, p_.a_column, rows, k, to, rows);
      } else {
        kernels_.pack_transposed(a + i * p_.a_row, p_.a_row, rows, k, to, rows);
      }
      to += rows * k;
    });
  }

  // Tiles of nearly equal height.
  template <typename Body>
  void ForRowTiles(int64_t m, Body body) {
    const int64_t limit = p_.dots ? GemmKernels<T>::kDotRows : kernels_.rows;
    const int64_t tiles = CeilDiv(m, limit);
    int64_t i = 0;
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const int64_t rows = (m - i) / (tiles - tile);
      body(i, rows);
      i += rows;
    }
  }

  int64_t TileColumns(int64_t m, int64_t n) const {
    if (p_.dots) return kernels_.dot_columns[std::min<int64_t>(m, GemmKernels<T>::kDotRows) - 1];
    const int64_t lanes = kernels_.lanes;
    if (m <= kernels_.wide_rows && !p_.b_packed && !blocks_.pack_b) {
      if (n > 7 * lanes) return 8 * lanes;
      if (n > 3 * lanes) return 4 * lanes;
    }
    return 2 * lanes;
  }

  void Block(const T* a, const T* b, int64_t i, int64_t j, int64_t m, int64_t n, int64_t k) {
    for (int64_t column = 0; column < n;) {
      // A wide tile must be nearly full: what its last vector lacks is all it may lack.
      const int64_t columns = std::min(TileColumns(m, n - column), n - column);
      const T* panel = b + column * p_.b_column;
      if (blocks_.pack_b) panel = b + column * k;
      if (p_.b_packed) panel = b + column / width_ * b_panel_;
      ForRowTiles(m, [&](int64_t row, int64_t rows) {
        TileCall<T> call{.k = k, .columns = columns};
        call.a = a + row * (blocks_.pack_a ? k : p_.a_row);
        call.a_stride = blocks_.pack_a ? rows : p_.a_rows_contiguous() ? p_.a_column : p_.a_row;
        call.b = panel;
        call.ldb = p_.dots ? p_.b_column : blocks_.pack_b || p_.b_packed ? width_ : p_.b_row;
        if (call.ldb == width_) call.b_ahead = kBytesAhead / static_cast<int64_t>(sizeof(T));
        Emit(call, i + row, j + column, rows);
      });
      column += columns;
    }
  }

  typename GemmKernels<T>::TileKernel KernelFor(int64_t rows, int64_t columns) const {
    if (p_.dots) return kernels_.dot[rows - 1];
    const int64_t vectors = CeilDiv(columns, kernels_.lanes);
    const int width = vectors <= 2 ? static_cast<int>(vectors) - 1 : vectors <= 4 ? 2 : 3;
    return kernels_.tile[blocks_.pack_a || p_.a_rows_contiguous()][width][rows - 1];
  }

  // Computes the tile of `rows` at (i, j) of C.
  void Emit(TileCall<T>& call, int64_t i, int64_t j, int64_t rows) {
    const auto kernel = KernelFor(rows, call.columns);
    if (direct_) {
      call.c = p_.c + i * p_.ldc + j;
      call.ldc = p_.ldc;
      call.accumulate = epilogue_.beta == 1;
      return kernel(call);
    }
    constexpr int64_t kTileColumns = kMaxTileRowBytes / sizeof(T);
    alignas(64) T tile[kMaxTileRows * kTileColumns];
    call.c = tile;
    call.ldc = RoundUp(call.columns, kernels_.lanes);
    call.accumulate = false;
    kernel(call);
    Finish(call, i, j, rows);
  }

  void Finish(const TileCall<T>& call, int64_t i, int64_t j, int64_t rows) {
    FinishCall<T> finish{.rows = rows,
                         .columns = call.columns,
                         .tile = call.c,
                         .tile_stride = call.ldc,
                         .c = p_.c,
                         .ldc = p_.ldc,
                         .epilogue = epilogue_};
    if (epilogue_.row_bias) finish.epilogue.row_bias += i;
    if (epilogue_.column_bias) finish.epilogue.column_bias += j;
    if (!p_.c_transposed) {
      finish.c += i * p_.ldc + j;
      return kernels_.finish(finish);
    }
    alignas(64) T turned[kMaxTileRows * kMaxTileRowBytes / sizeof(T)];
    kernels_.pack_transposed(call.c, call.ldc, rows, call.columns, turned, rows);
    std::swap(finish.rows, finish.columns);
    std::swap(finish.epilogue.row_bias, finish.epilogue.column_bias);
    finish.tile = turned;
    finish.tile_stride = rows;
    finish.c += j * p_.ldc + i;
    kernels_.finish(finish);
  }

  const GemmKernels<T>& kernels_;
  const Product<T> p_;
  const GemmBlocks blocks_;
  T* const packed_a_;
  T* const packed_b_;
  const int64_t b_panel_;
  const int64_t width_;
  GemmEpilogue<T> epilogue_;
  bool direct_ = false;
};

}  // namespace hr::cpu
