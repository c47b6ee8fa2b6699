// Attention over operands of 16 bits (attention.h). Scores, their softmax and all sums are of
// float32; the result is rounded once.
//
// If the processor multiplies bfloat16, both products are its own (bfloat16_gemm.h), and the
// probabilities are rounded to bfloat16. Else keys and values of one head, and queries of one
// block, are widened.
//
// Nothing is allocated in Run, and several may run at once. The scratch is aligned to a cache line.
#pragma once

#include "backends/cpu/kernels/attention_parts.h"
#include "backends/cpu/kernels/bfloat16_gemm.h"

namespace hr::cpu {

class NarrowAttention {
 public:
  // `dtype` is kFloat16 or kBfloat16. `products`: null if there are none for it.
  NarrowAttention(const AttentionShape& shape, DType dtype, const Bfloat16Kernels* products,
                  int slices);

  size_t scratch_bytes() const { return memory_.end * static_cast<size_t>(cut_.tasks); }
  void Run(const Lease& threads, const uint16_t* q, const uint16_t* k, const uint16_t* v,
           const AttentionMaskData& masks, uint16_t* out, void* scratch) const;

 private:
  // The memory of a task, in bytes from where it begins. Where the processor multiplies bfloat16,
  // keys and values are packed, and of queries and outputs there are no copies.
  struct Memory {
    size_t scores = 0, k = 0, v = 0, probabilities = 0, q = 0, out = 0, product = 0, end = 0;

    size_t Take(size_t bytes);
  };
  struct Head;

  void PlaceNarrow();
  void PlaceWide();
  void LoadNarrow(const Head& head, char* memory) const;
  void LoadWide(const Head& head, char* memory) const;
  void MultiplyNarrow(const Head& head, Range rows, char* memory) const;
  void MultiplyWide(const Head& head, Range rows, char* memory) const;

  const AttentionShape s_;
  const Bfloat16Kernels* const products_;
  const ConvertLoop load_, store_;
  const AttentionCut cut_;
  const int64_t rows_;  // of the largest block
  Memory memory_;
};

}  // namespace hr::cpu
