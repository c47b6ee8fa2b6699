// Attention, written as MatMul, Softmax and MatMul over heads, as one node that needs no memory for
// all scores.
#pragma once

#include "runtime/lowering/region.h"

namespace hr::lowering {

// A change of scores: an operand is added, or one of bool says which of them become a number.
enum class ScoreMask : int64_t { kAdd, kFillTrue, kFillFalse };

// The most masks of a lowered.Attention.
inline constexpr size_t kMaxScoreMasks = 4;

// Makes lowered.Attention (q, k, v, masks…) → (out) of
//   out = MatMul(Softmax(scores), v)    scores = MatMul(q, kᵀ)
// over operands of rank 3 to 5 and equal batches; keys and values may be broadcast along axes of
// these. The scores, or q and k, may be multiplied or divided by constants, whose product is the
// attribute "scale". Then masks may be added to them, or say where they are replaced by a number:
// the attributes "mask_kinds" (ScoreMask) and "mask_numbers" (the bits of doubles). Behind the
// softmax, the number "nan" may replace NaN.
// The attributes "q_axes", "k_axes", "v_axes" and "out_axes" say which axes of memory are [batch…,
// rows, features], so Transpose nodes around the products vanish. Features follow each other in
// memory; of keys, features or rows do.
//
// If others take the probabilities, these must be the products of the gradient, which then become
// lowered.AttentionGrad (dout, q, k, v, masks…) → (dq, dk, dv) with "dq_axes", … besides; it
// computes the scores again. `threads`: a gradient of fewer heads stays as it is, because each
// head's keys belong to one thread.
//
// Nodes stay as they are if one of them, unless the first, waits for others (graph::Node::controls)
// or if what is read must wait for one of them.
void FuseAttention(Region& region, int threads);

}  // namespace hr::lowering
