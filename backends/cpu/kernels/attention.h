// Scaled dot-product attention over heads, softmax(mask(scale Q Kᵀ)) V, and its gradients, for
// float and double: Vaswani et al., "Attention Is All You Need" (2017). Scores exist for one block
// of queries of one head at a time; the backward pass computes them again (Dao et al.,
// "FlashAttention" (2022)). A block sees all keys, so its softmax is the operator's own.
//
// Nothing is allocated; `scratch` has the bytes of the …ScratchBytes partner and the alignment of
// T. Results depend on the shape and on `slices`, never on how many threads the lease has.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "backends/cpu/kernels/convert.h"
#include "runtime/base/executor.h"

namespace hr::cpu {

// Where an operand of [batch, heads, groups, rows, features] lies: distances in elements, 0 where
// it is broadcast. Features follow each other.
struct HeadStrides {
  int64_t batch = 0, head = 0, group = 0, row = 0;
};

// A change of the scores of [batch, heads, groups, queries, keys]: what is added to them, or bytes
// that say where they become a number.
struct AttentionMask {
  enum class Kind { kAdd, kFillTrue, kFillFalse };

  Kind kind = Kind::kAdd;
  double number = 0;
  int64_t element = 1;         // bytes
  ConvertLoop load = nullptr;  // to float, if what is added is of another type than the scores
  HeadStrides strides;         // 0 where it is broadcast
  int64_t column = 0;          // distance of keys, 0 or 1
};

inline constexpr size_t kMaxAttentionMasks = 4;
using AttentionMaskData = std::array<const void*, kMaxAttentionMasks>;

struct AttentionShape {
  int64_t batch = 0, heads = 0, groups = 1, queries = 0, keys = 0;
  int64_t size = 0, value_size = 0;  // features of queries and keys, and of values
  double scale = 1;
  HeadStrides q, k, v, out;
  HeadStrides dq, dk, dv;  // of the gradients; `out` is that of dout
  // Keys, or their gradient, are [size][keys]: positions follow each other, and the stride of rows
  // is that of features.
  bool turned_k = false, turned_dk = false;
  size_t mask_count = 0;
  std::array<AttentionMask, kMaxAttentionMasks> masks;  // in the order in which they are applied
  std::optional<double> nan;  // probabilities of rows that are NaN, if they are to be others

  int64_t all_heads() const { return batch * heads * groups; }
};

template <typename T>
size_t AttentionScratchBytes(const AttentionShape& shape, int slices);
template <typename T>
void Attention(const Lease& threads, const AttentionShape& shape, const T* q, const T* k,
               const T* v, const AttentionMaskData& masks, T* out, int slices, void* scratch);

template <typename T>
size_t AttentionGradScratchBytes(const AttentionShape& shape, int slices);
template <typename T>
void AttentionGrad(const Lease& threads, const AttentionShape& shape, const T* dout, const T* q,
                   const T* k, const T* v, const AttentionMaskData& masks, T* dq, T* dk, T* dv,
                   int slices, void* scratch);

}  // namespace hr::cpu
