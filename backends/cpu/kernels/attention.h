// Scaled dot-product attention over heads, softmax(scale Q Kᵀ + mask) V, and its gradients, for
// float and double: Vaswani et al., "Attention Is All You Need" (2017). Scores exist for one block
// of queries of one head at a time; the backward pass computes them again (Dao et al.,
// "FlashAttention" (2022)). A block sees all keys, so its softmax is the operator's own.
//
// Nothing is allocated; `scratch` has the bytes of the …ScratchBytes partner and the alignment of
// T. Results depend on the shape and on `slices`, never on how many threads the lease has.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/executor.h"

namespace hr::cpu {

// Where an operand of [batch, heads, rows, features] lies: distances in elements. Features follow
// each other.
struct HeadStrides {
  int64_t batch = 0, head = 0, row = 0;
};

struct AttentionShape {
  int64_t batch = 0, heads = 0, queries = 0, keys = 0;
  int64_t size = 0, value_size = 0;  // features of queries and keys, and of values
  double scale = 1;
  HeadStrides q, k, v, out;
  bool masked = false;
  HeadStrides mask;         // [batch, heads, queries, keys]; 0 where it is broadcast
  int64_t mask_column = 0;  // distance of keys in the mask, 0 or 1
  HeadStrides dq, dk, dv;   // of the gradients; `out` is that of dout

  int64_t all_heads() const { return batch * heads; }
};

template <typename T>
size_t AttentionScratchBytes(const AttentionShape& shape, int slices);
// `mask` is added to the scaled scores; not read unless the shape is masked.
template <typename T>
void Attention(const Lease& threads, const AttentionShape& shape, const T* q, const T* k,
               const T* v, const T* mask, T* out, int slices, void* scratch);

template <typename T>
size_t AttentionGradScratchBytes(const AttentionShape& shape, int slices);
template <typename T>
void AttentionGrad(const Lease& threads, const AttentionShape& shape, const T* dout, const T* q,
                   const T* k, const T* v, const T* mask, T* dq, T* dk, T* dv, int slices,
                   void* scratch);

}  // namespace hr::cpu
