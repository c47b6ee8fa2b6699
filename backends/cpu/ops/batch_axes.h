// The products of matrices that a MatMul of higher rank consists of.
#pragma once

#include <span>

#include "runtime/base/errors.h"
#include "runtime/base/shape.h"

namespace hr::cpu {

// The axes before the last two of both operands, broadcast against each other.
struct BatchAxes {
  Dims dims, a_strides, b_strides;
};

// A shape, and how far elements are apart along each axis.
struct StridedDims {
  Dims dims, strides;

  // Of memory of these dimensions.
  static StridedDims Dense(const Dims& dims);
  // Of memory whose axis axes[i] is axis i here; the memory's own axes if there are none.
  static StridedDims Seen(const Dims& memory, std::span<const int64_t> axes);
};

// `a`, `b`: the operands' shapes. Strides are in elements, and 0 where an operand is broadcast.
Result<BatchAxes> BatchOf(const Dims& a, const Dims& b);
Result<BatchAxes> BatchOf(const StridedDims& a, const StridedDims& b);

// The place of product `index`, in row-major order of the axes, in the operand with these strides.
int64_t OffsetOf(const BatchAxes& axes, const Dims& strides, int64_t index);

}  // namespace hr::cpu
