// C = activation(op(A) * op(B) + bias) by oneDNN, float. The product is cut into a grid of cells,
// each computed by one thread.
//
// Results depend on the shape and on `slices` (the planned number of threads), never on how many
// threads the lease has. Scratch memory and packed weights are aligned to 64 bytes.
#pragma once

#include <memory>
#include <vector>

#include "backends/cpu/kernels/gemm.h"
#include "backends/cpu/onednn/primitive.h"

namespace hr::cpu::onednn {

struct MatMulOptions {
  bool column_bias = false;  // of n elements
  Activation activation = Activation::kNone;
  bool packed_b = false;  // B comes from Pack
  int slices = 1;
};

// Immutable, so thread-safe.
class MatMul {
 public:
  static Result<std::shared_ptr<const MatMul>> Create(const GemmShape& shape,
                                                      const MatMulOptions& options);

  size_t scratch_bytes() const { return scratch_bytes_ * cells_.size(); }
  // `bias` is null where the options have none; `b` is packed where they say so.
  Status Run(const Lease& threads, const float* a, const float* b, const float* bias, float* c,
             void* scratch) const;

  // B in the order in which Run reads it. Only with `packed_b`.
  size_t packed_bytes() const { return packed_bytes_; }
  std::string packed_format() const;
  Status Pack(const Lease& threads, const float* b, float* packed, void* scratch) const;

 private:
  struct Cell {
    size_t kind;  // of its size
    int64_t i, j;
    size_t packed_offset;  // of its columns of B, in bytes
  };
  // Cells of one size share primitives.
  struct Kind {
    int64_t rows, columns;
    PrimitiveDesc desc;
    Primitive product, pack;
    size_t packed_bytes = 0;
    const_dnnl_memory_desc_t PackedLayout() const {
      return Dnnl().primitive_desc_query_md(desc.get(), dnnl_query_weights_md, 0);
    }
  };
  MatMul(const GemmShape& shape, const MatMulOptions& options) : s_(shape), options_(options) {}
  Status AddCells();
  Result<size_t> KindOf(int64_t rows, int64_t columns);
  Result<Kind> MakeKind(int64_t rows, int64_t columns) const;

  const GemmShape s_;
  const MatMulOptions options_;
  std::shared_ptr<const Library> library_;
  std::vector<Kind> kinds_;
  std::vector<Cell> cells_;
  size_t rows_cut_ = 1;
  size_t scratch_bytes_ = 0;  // of one cell
  size_t packed_bytes_ = 0;
};

}  // namespace hr::cpu::onednn
