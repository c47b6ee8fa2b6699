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
        width_(2 * kernels.lanes),
        b_is_far_(product.k * product.n * static_cast<int64_t>(sizeof(T)) > kFirstLevelBytes) {}

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
    next_panel_ = nullptr;
    if (blocks_.pack_b) {
      PackBlockB(b, k_count, n);
      if (blocks_.n <= width_ && p_.b_column == 1 && j + n < p_.n) next_panel_ = b + n;
      b = packed_b_;
    }
    for (int64_t i = 0; i < p_.m; i += blocks_.m) {
      const int64_t m = std::min(blocks_.m, p_.m - i);
      const T* a = p_.a + i * p_.a_row + k * p_.a_column;
      if (blocks_.pack_a) {
        if (j == 0 || blocks_.m < p_.m) PackBlockA(a, k_count, m);
        a = packed_a_;
      }
      Multiply({a, b, i, j, m, n, k_count});
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
    ForRowTiles(m, kernels_.rows, [&](int64_t i, int64_t rows) {
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
  static void ForRowTiles(int64_t m, int64_t limit, const Body& body) {
    const int64_t tiles = CeilDiv(m, limit);
    int64_t i = 0;
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const int64_t rows = (m - i) / (tiles - tile);
      body(i, rows);
      i += rows;
    }
  }

  using Width = typename GemmKernels<T>::Width;
  static constexpr int64_t Vectors(Width width) { return int64_t{1} << width; }

  // m x n elements of C from (i, j) on, and k terms of each.
  struct Block {
    const T *a, *b;
    int64_t i, j, m, n, k;
  };

  // Of the tiles for `rows` where `n` columns are left. A wide tile must be nearly full: what its
  // last vector lacks is all it may lack. Eight vectors are quicker than four only where B is near.
  Width WidthFor(int64_t rows, int64_t n) const {
    const auto fits = [&](Width width) {
      return rows <= kernels_.wide_rows[width] && n > (Vectors(width) - 1) * kernels_.lanes;
    };
    if (!p_.b_packed && !blocks_.pack_b && !blocks_.pack_a) {
      if (!b_is_far_ && fits(Width::kEightVectors)) return Width::kEightVectors;
      if (fits(Width::kFourVectors)) return Width::kFourVectors;
    }
    return n > kernels_.lanes ? Width::kTwoVectors : Width::kOneVector;
  }

  void Multiply(const Block& block) {
    if (p_.dots) return MultiplyDots(block);
    if (!blocks_.by_rows) {
      return ForColumns(block, block.m, [&](Width width, int64_t column, int64_t columns) {
        ForRowTiles(block.m, kernels_.wide_rows[width], [&](int64_t row, int64_t rows) {
          Tile(block, width, row, rows, column, columns);
        });
      });
    }
    ForRowTiles(block.m, kernels_.wide_rows[Width::kFourVectors], [&](int64_t row, int64_t rows) {
      ForColumns(block, rows, [&](Width width, int64_t column, int64_t columns) {
        Tile(block, width, row, rows, column, columns);
      });
    });
  }

  // Calls body(width, column, columns) for the tiles of so many rows that stand side by side.
  template <typename Body>
  void ForColumns(const Block& block, int64_t rows, const Body& body) const {
    for (int64_t column = 0; column < block.n;) {
      const Width width = WidthFor(rows, block.n - column);
      const int64_t columns = std::min(Vectors(width) * kernels_.lanes, block.n - column);
      body(width, column, columns);
      column += columns;
    }
  }

  void Tile(const Block& block, Width width, int64_t row, int64_t rows, int64_t column,
            int64_t columns) {
    TileCall<T> call{.k = block.k, .columns = columns};
    call.a = block.a + row * (blocks_.pack_a ? block.k : p_.a_row);
    call.a_stride = blocks_.pack_a ? rows : p_.a_rows_contiguous() ? p_.a_column : p_.a_row;
    if (blocks_.pack_b || p_.b_packed) {
      call.b = block.b + (blocks_.pack_b ? column * block.k : column / width_ * b_panel_);
      call.ldb = width_;
      call.b_ahead = kBytesAhead / static_cast<int64_t>(sizeof(T));
      if (row == 0 && next_panel_ != nullptr) {
        call.ahead = next_panel_;
        call.ahead_step = p_.b_row;
      }
      if (p_.b_packed && rows < block.m && column + width_ < block.n) {
        // Each tile of this panel fetches its share of the next one.
        call.ahead = call.b + b_panel_ + row * block.k / block.m * width_;
        call.ahead_step = width_ * rows / block.m;
      }
    } else {
      call.b = block.b + column;
      call.ldb = p_.b_row;
      if (b_is_far_) call.b_ahead = kRowsAhead * p_.b_row;
    }
    const bool rows_contiguous = blocks_.pack_a || p_.a_rows_contiguous();
    Emit(kernels_.tile[rows_contiguous][width][rows - 1], call, block.i + row, block.j + column,
         rows);
  }

  void MultiplyDots(const Block& block) {
    constexpr int64_t kMostRows = GemmKernels<T>::kDotRows;
    const int64_t width = kernels_.dot_columns[std::min(block.m, kMostRows) - 1];
    for (int64_t column = 0; column < block.n; column += width) {
      ForRowTiles(block.m, kMostRows, [&](int64_t row, int64_t rows) {
        TileCall<T> call{.k = block.k, .columns = std::min(width, block.n - column)};
        call.a = block.a + row * p_.a_row;
        call.a_stride = p_.a_row;
        call.b = block.b + column * p_.b_column;
        call.ldb = p_.b_column;
        Emit(kernels_.dot[rows - 1], call, block.i + row, block.j + column, rows);
      });
    }
  }

  // Computes the tile of `rows` at (i, j) of C.
  void Emit(typename GemmKernels<T>::TileKernel kernel, TileCall<T>& call, int64_t i, int64_t j,
            int64_t rows) {
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
  const bool b_is_far_;            // behind the first-level cache
  const T* next_panel_ = nullptr;  // of B, in its own memory: copied after this one
  GemmEpilogue<T> epilogue_;
  bool direct_ = false;
};

}  // namespace hr::cpu
