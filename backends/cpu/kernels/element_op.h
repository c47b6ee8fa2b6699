// The loops that run element-wise functions over arrays.
#pragma once

#include <cstdint>

#include "runtime/base/dtype.h"
#include "runtime/ops/element_op.h"

namespace hr::cpu {

using ops::ElementOp;

// The types in which elements are computed; the others are converted when loaded and stored.
enum class ElementType : uint8_t { kFloat, kDouble, kInt32, kInt64, kUint64 };

// Returns float for smaller floats, and for integers and bool the narrowest that holds all of them.
ElementType ElementTypeOf(DType dtype);
inline int64_t SizeOf(ElementType type) {
  return type == ElementType::kFloat || type == ElementType::kInt32 ? 4 : 8;
}

// out[i] = op(in[0][i], …), 0 <= i < count. `out` may be one of the inputs.
using ElementLoop = void (*)(const void* const* in, void* out, int64_t count);
// Returns null if the operation has no meaning for the type.
ElementLoop ElementLoopFor(ElementOp op, ElementType type);

}  // namespace hr::cpu
