// The type rules of operators that compute gradients of others: (dy, …) → dx. Their kernels rely on
// the shapes of the forward operator, so these are computed again and compared: a graph from a file
// may have any.
#pragma once

#include "runtime/ops/shape_rules.h"

namespace hr::ops {

inline constexpr size_t kOmitted = SIZE_MAX;

// Checks that input 0 has the type of the output of `forward`, which is given the inputs of the
// context with these numbers (kOmitted: none), and its attributes. Output 0 has the type of input
// `like`.
Status InferGradientOf(InferContext& context, const OpDef& forward,
                       std::initializer_list<size_t> inputs, size_t like);

// Fails unless input i is of the type `expected`, as far as both are known.
Status ExpectType(const InferContext& context, size_t i, const ValueType& expected);

}  // namespace hr::ops
