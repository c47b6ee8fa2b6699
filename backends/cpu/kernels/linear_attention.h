// Attention by a state S [keys, values] of each head, which every step changes:
//   S' = exp(decay) S                      with a decay
//   u  = beta (v - S'ᵀ k), or v            with a beta, or without
//   S  = S' + k uᵀ,  y = scale Sᵀ q        for every query head that shares the state
// Yang et al., "Gated Delta Networks: Improving Mamba2 with Delta Rule" (2025) has all four rules.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/executor.h"

namespace hr::cpu {

struct LinearAttentionShape {
  int64_t batch, steps, heads, group;  // `group`: query heads that share a state
  int64_t keys, values;
  double scale;
  int64_t decay_each = 0;               // 0: no decay; 1 or `keys` of them a head
  bool beta = false, one_beta = false;  // one for all heads
  int slices = 1;

  int64_t state() const { return keys * values; }
};

// As ONNX lays them out; null for what is omitted.
template <typename T>
struct LinearAttentionInputs {
  const T *q, *k, *v, *past, *decay, *beta;
};

template <typename T>
size_t LinearAttentionScratchBytes(const LinearAttentionShape& shape);
template <typename T>
void LinearAttention(const Lease& threads, const LinearAttentionShape& shape,
                     const LinearAttentionInputs<T>& in, T* y, T* present, void* scratch);

template <typename T>
struct LinearAttentionGrads {
  const T *dy, *d_present;
  T *dq, *dk, *dv, *d_past, *d_decay, *d_beta;
};
template <typename T>
size_t LinearAttentionGradScratchBytes(const LinearAttentionShape& shape);
template <typename T>
void LinearAttentionGrad(const Lease& threads, const LinearAttentionShape& shape,
                         const LinearAttentionInputs<T>& in, const LinearAttentionGrads<T>& grads,
                         void* scratch);

}  // namespace hr::cpu
