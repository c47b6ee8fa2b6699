// Matrix products: C = activation(alpha * op(A) * op(B) + beta * C + bias), row-major, float and
// double. Blocking and packing follow Van Zee and van de Geijn, "BLIS: A Framework for Rapidly
// Instantiating BLAS Functionality" (2015).
//
// Results depend on the shape and on `slices` (the planned number of threads), never on how many
// threads the lease really has. Nothing is allocated: `scratch` has the size that the …ScratchBytes
// partner says (it may be null where that is 0) and needs the alignment of T. Different calls may
// run at one time as long as they do not share scratch or C.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/executor.h"
#include "runtime/lowering/activation.h"

namespace hr::cpu {

// op(A) is m x k, op(B) is k x n, C is m x n. A leading dimension is the distance in elements
// between rows of the matrix as stored, that is before op().
struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  int64_t lda = 0, ldb = 0, ldc = 0;

  // Matrices without gaps between their rows.
  static GemmShape Dense(int64_t m, int64_t n, int64_t k, bool transpose_a = false,
                         bool transpose_b = false) {
    return {m, n, k, transpose_a, transpose_b, transpose_a ? m : k, transpose_b ? k : n, n};
  }
};

using lowering::Activation;

// What happens to a finished element of C. At most one bias is set; `row_bias` has m elements,
// `column_bias` n. Where beta is 0, C is not read.
template <typename T>
struct GemmEpilogue {
  T alpha = 1;
  T beta = 0;
  const T* row_bias = nullptr;
  const T* column_bias = nullptr;
  Activation activation = Activation::kNone;
};

template <typename T>
size_t GemmScratchBytes(const GemmShape& shape, int slices);
template <typename T>
void Gemm(const Lease& threads, const GemmShape& shape, const T* a, const T* b, T* c,
          const GemmEpilogue<T>& epilogue, int slices, void* scratch);

// Whether a product of float32 runs on a matrix unit of this processor (split_kernels.h), which is
// faster than any product by vectors.
bool RunsOnMatrixUnit(const GemmShape& shape);

// B in the order in which the kernels read it, for weights that many products share. The layout
// depends on the CPU: it is for memory, not for files. `packed` has PackedBBytes, aligned as T.
template <typename T>
size_t PackedBBytes(int64_t n, int64_t k);
template <typename T>
void PackB(const Lease& threads, int64_t n, int64_t k, bool transpose_b, const T* b, int64_t ldb,
           T* packed, int slices);
// `shape.transpose_b` and `shape.ldb` are not looked at.
template <typename T>
size_t GemmPackedBScratchBytes(const GemmShape& shape, int slices);
template <typename T>
void GemmPackedB(const Lease& threads, const GemmShape& shape, const T* a, const T* packed, T* c,
                 const GemmEpilogue<T>& epilogue, int slices, void* scratch);

// One product for each index of `dims`, in row-major order; strides are in elements and 0 where an
// operand is broadcast. Biases are shared.
struct GemmBatch {
  std::span<const int64_t> dims;
  std::span<const int64_t> a_strides;
  std::span<const int64_t> b_strides;
  std::span<const int64_t> c_strides;
};
template <typename T>
size_t GemmBatchedScratchBytes(const GemmShape& shape, const GemmBatch& batch, int slices);
template <typename T>
void GemmBatched(const Lease& threads, const GemmShape& shape, const GemmBatch& batch, const T* a,
                 const T* b, T* c, const GemmEpilogue<T>& epilogue, int slices, void* scratch);

}  // namespace hr::cpu
