#include "backends/cpu/kernels/element_op.h"

namespace hr::cpu {

ElementType ElementTypeOf(DType dtype) {
  if (dtype == DType::kFloat64) return ElementType::kDouble;
  if (IsFloating(dtype)) return ElementType::kFloat;
  return dtype == DType::kUint64 ? ElementType::kUint64 : ElementType::kInt64;
}

}  // namespace hr::cpu
