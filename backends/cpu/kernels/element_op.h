// Element-wise operations and the loops that run them over arrays.
#pragma once

#include <cstdint>

#include "runtime/base/dtype.h"

namespace hr::cpu {

// The types in which elements are computed; the others are converted when loaded and stored.
enum class ElementType : uint8_t { kFloat, kDouble, kInt64, kUint64 };

// float for 16-bit floats, int64 for narrower integers and bool.
ElementType ElementTypeOf(DType dtype);
inline int64_t SizeOf(ElementType type) { return type == ElementType::kFloat ? 4 : 8; }

// A truth value is 1 or 0 of the element's own type. The names are ONNX's where it has the
// operator; attributes (alpha …) are operands. Mod has the sign of the divisor, Fmod of the
// dividend; integer division by 0 gives 0. Shift counts of 64 and more give 0.
// clang-format off
#define HR_FLOAT_UNARY(X)                                                                       \
  X(Sqrt) X(Exp) X(Expm1) X(Log) X(Reciprocal) X(Floor) X(Ceil) X(Round) X(Tanh) X(Sigmoid)     \
  X(Erf) X(Softplus) X(Softsign) X(HardSwish) X(Mish) X(Gelu) X(GeluTanh) X(Sin) X(Cos) X(Tan)  \
  X(Asin) X(Acos) X(Atan) X(Sinh) X(Cosh) X(Asinh) X(Acosh) X(Atanh) X(IsNaN) X(IsInf)
#define HR_FLOAT_BINARY(X)                                                                      \
  X(LeakyRelu) X(ThresholdedRelu) X(Elu) X(Celu)                                                \
  X(ReluGrad) X(TanhGrad) X(SigmoidGrad) X(GeluGrad) X(GeluTanhGrad)
#define HR_FLOAT_TERNARY(X) X(Selu) X(HardSigmoid) X(MulAdd)
#define HR_ANY_UNARY(X) X(Identity) X(Neg) X(Abs) X(Sign) X(Square) X(Relu) X(Not)
#define HR_ANY_BINARY(X)                                                                        \
  X(Add) X(Sub) X(Mul) X(Div) X(Pow) X(Fmod) X(Min) X(Max) X(Equal) X(Less) X(LessOrEqual)      \
  X(Greater) X(GreaterOrEqual) X(And) X(Or) X(Xor)
#define HR_ANY_TERNARY(X) X(Where) X(Clip)
#define HR_INTEGER_UNARY(X) X(BitwiseNot)
#define HR_INTEGER_BINARY(X)                                                                    \
  X(Mod) X(BitwiseAnd) X(BitwiseOr) X(BitwiseXor) X(ShiftLeft) X(ShiftRight)
#define HR_ELEMENT_OPS(X)                                                                       \
  HR_FLOAT_UNARY(X) HR_FLOAT_BINARY(X) HR_FLOAT_TERNARY(X) HR_ANY_UNARY(X) HR_ANY_BINARY(X)     \
  HR_ANY_TERNARY(X) HR_INTEGER_UNARY(X) HR_INTEGER_BINARY(X)
// clang-format on

enum class ElementOp : uint8_t {
#define HR_NAME(name) k##name,
  HR_ELEMENT_OPS(HR_NAME)
#undef HR_NAME
      kCount
};
inline constexpr int kElementOps = static_cast<int>(ElementOp::kCount);

const char* NameOf(ElementOp op);
int OperandsOf(ElementOp op);
// Roughly, in additions.
int CostOf(ElementOp op);

// out[i] = op(in[0][i], …), 0 <= i < count. `out` may be one of the inputs.
using ElementLoop = void (*)(const void* const* in, void* out, int64_t count);
// Null where the operation has no meaning for the type.
ElementLoop ElementLoopFor(ElementOp op, ElementType type);

}  // namespace hr::cpu
