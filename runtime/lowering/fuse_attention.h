// Attention, written as MatMul, Softmax and MatMul over heads, as one node that needs no memory for
// all scores.
#pragma once

#include "runtime/lowering/region.h"

namespace hr::lowering {

// Makes lowered.Attention (q, k, v, mask?) → (out) of
//   out = MatMul(Softmax(scores), v)    scores = MatMul(q, kᵀ)
// over operands of rank 3 or 4 and equal batches, where the scores may be multiplied or divided by
// a constant and a mask added to them, in this order. The attribute "scale" has the factor. The
// attributes "q_axes", "k_axes", "v_axes" and "out_axes" say which axes of memory are
// [batch, heads, rows, features], so Transpose nodes around the products vanish.
//
// If others take the probabilities, these must be the products of the gradient, which then become
// lowered.AttentionGrad (dout, q, k, v, mask?) → (dq, dk, dv) with "dq_axes", … besides; it
// computes the scores again. `threads`: a gradient of fewer heads stays as it is, because each
// head's keys belong to one thread.
void FuseAttention(Region& region, int threads);

}  // namespace hr::lowering
