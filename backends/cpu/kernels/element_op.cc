#include "backends/cpu/kernels/element_op.h"

#include <initializer_list>

namespace hr::cpu {
namespace {

constexpr bool IsIn(ElementOp op, std::initializer_list<ElementOp> list) {
  for (ElementOp item : list) {
    if (item == op) return true;
  }
  return false;
}

#define HR_ITEM(name) ElementOp::k##name,
constexpr bool IsTernary(ElementOp op) {
  return IsIn(op, {HR_FLOAT_TERNARY(HR_ITEM) HR_ANY_TERNARY(HR_ITEM)});
}
constexpr bool IsUnary(ElementOp op) {
  return IsIn(op, {HR_FLOAT_UNARY(HR_ITEM) HR_ANY_UNARY(HR_ITEM) HR_INTEGER_UNARY(HR_ITEM)});
}
#undef HR_ITEM

}  // namespace

ElementType ElementTypeOf(DType dtype) {
  if (dtype == DType::kFloat64) return ElementType::kDouble;
  if (IsFloating(dtype)) return ElementType::kFloat;
  return dtype == DType::kUint64 ? ElementType::kUint64 : ElementType::kInt64;
}

const char* NameOf(ElementOp op) {
#define HR_NAME(name) #name,
  static constexpr const char* kNames[] = {HR_ELEMENT_OPS(HR_NAME)};
#undef HR_NAME
  return kNames[static_cast<int>(op)];
}

int OperandsOf(ElementOp op) { return IsUnary(op) ? 1 : IsTernary(op) ? 3 : 2; }

int CostOf(ElementOp op) {
  using enum ElementOp;
  if (IsIn(op,
           {kTan, kAsin, kAcos, kAtan, kSinh, kCosh, kAsinh, kAcosh, kAtanh, kPow, kFmod, kMod})) {
    return 100;
  }
  if (IsIn(op, {kExp, kExpm1, kLog, kTanh, kSigmoid, kErf, kSoftplus, kMish, kGelu, kGeluTanh, kSin,
                kCos, kElu, kSelu, kCelu, kGeluGrad, kGeluTanhGrad})) {
    return 10;
  }
  return IsIn(op, {kDiv, kSqrt, kReciprocal}) ? 3 : 1;
}

}  // namespace hr::cpu
