// C = A B + C or A B + bias, for a B that stays the same while many A with few rows follow each
// other: B is brought into the order of the kernels once, for a matrix unit (split_kernels.h) where
// that pays. Each product is computed by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "backends/cpu/kernels/partition.h"
#include "backends/cpu/kernels/split_kernels.h"

namespace hr::cpu {

// The columns of B come in `pieces`, of which each begins at a panel of the kernels'.
struct SteadyShape {
  int64_t rows = 0;  // of most products
  int64_t k = 0;
  int64_t pieces = 0, columns = 0;  // a multiple of SteadyColumns, unless there is one piece
  int64_t n() const { return pieces * columns; }
};

// A piece's columns are those of `rows`, which lie together: column j of piece p, whose k terms
// follow each other, is at rows[(p * distance + j) * k]. Columns of C that a piece lacks become any
// numbers.
template <typename T>
struct SteadyMatrix {
  const T* rows;
  int64_t distance;
  int64_t columns;
  std::byte* memory;  // of memory_bytes(), where Prepare brings them
};

template <typename T>
struct SteadyCall {
  int64_t rows;
  const T* a;
  int64_t lda;
  T* c;
  int64_t ldc;
  bool add = false;         // to what C has; else to the bias
  const T* bias = nullptr;  // n() elements, or null
};

// So many columns of a piece are computed as fast as fewer.
template <typename T>
int64_t SteadyColumns();
// What one product takes, in multiply-adds of vectors. `others`: see SteadyProduct.
template <typename T>
double SteadyCost(const SteadyShape& shape, int64_t others);

template <typename T>
class SteadyProduct {
 public:
  SteadyProduct() = default;
  // `others`: how many elements of other matrices are read between two products.
  SteadyProduct(const SteadyShape& shape, int64_t others);

  size_t memory_bytes() const;
  // For products of so many rows each, which are `lda` apart.
  size_t scratch_bytes(std::initializer_list<int64_t> rows, int64_t lda) const;
  // Panels that can be prepared apart from others.
  int64_t panels() const { return shape_.pieces * CeilDiv(shape_.columns, SteadyColumns<T>()); }
  void Prepare(const SteadyMatrix<T>& b, Range panels) const;
  void Run(const SteadyMatrix<T>& b, const SteadyCall<T>& call, void* scratch) const;

 private:
  // Some columns of a piece: those of one panel.
  struct Panel {
    int64_t column;  // of C
    int64_t count;   // that B has
    int64_t width;   // that C has
    const T* rows;
  };
  Panel PanelOf(const SteadyMatrix<T>& b, int64_t index) const;
  void AddOnUnit(const SteadyMatrix<T>& b, const SteadyCall<T>& call, char* a) const;
  void RunOnVectors(const SteadyMatrix<T>& b, const SteadyCall<T>& call, void* scratch) const;

  SteadyShape shape_{};
  const SplitKernels* unit_ = nullptr;  // null: vectors
};

}  // namespace hr::cpu
