#include "backends/cpu/kernels/element_op.h"

namespace hr::cpu {

ElementType ElementTypeOf(DType dtype) {
  if (dtype == DType::kFloat64) return ElementType::kDouble;
  if (IsFloating(dtype) || IsFloat8(dtype)) return ElementType::kFloat;
  if (dtype == DType::kUint64) return ElementType::kUint64;
  const bool fits = dtype == DType::kInt32 || DTypeSize(dtype) < 4;
  return fits ? ElementType::kInt32 : ElementType::kInt64;
}

}  // namespace hr::cpu
