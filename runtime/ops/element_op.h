// Functions of elements: what an element-wise operator computes of one element of each input. One
// table says all about them; what they compute stands in functors/*.inc.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/graph/graph.h"

namespace hr::ops {

// X(name, types, operands, cost, operator, attributes…)
//   name        of the function in functors/*.inc, or for integers in a backend
//   types       FLOAT: floating-point numbers; INTEGER: integers and bool; ANY: both
//   operands    the number of them
//   cost        of one element, roughly, in additions
//   operator    kOnnx: the ONNX operator of this name; kGrad: that of headrace.grad; kNone: it is
//               only a part of what other operators compute
//   attributes  of the operator that are the last operands, with their defaults
//
// A truth value is 1 or 0 of the element's own type. Mod has the sign of the divisor, Fmod of the
// dividend; integer division by 0 gives 0. Shift counts of 64 and more give 0. ReluGrad, TanhGrad
// and SigmoidGrad take (dy, y), GeluGrad takes (dy, x).
// clang-format off
#define HR_ELEMENT_OPS(X)                                                                    \
  X(Identity, ANY, 1, 1, kNone)      X(Neg, ANY, 1, 1, kOnnx)       X(Abs, ANY, 1, 1, kOnnx)       \
  X(Sign, ANY, 1, 1, kOnnx)          X(Square, ANY, 1, 1, kNone)    X(Relu, ANY, 1, 1, kOnnx)      \
  X(Not, ANY, 1, 1, kOnnx)           X(BitwiseNot, INTEGER, 1, 1, kOnnx)                           \
  X(Sqrt, FLOAT, 1, 3, kOnnx)        X(Reciprocal, FLOAT, 1, 3, kOnnx)                             \
  X(Exp, FLOAT, 1, 10, kOnnx)        X(Expm1, FLOAT, 1, 10, kNone)  X(Log, FLOAT, 1, 10, kOnnx)    \
  X(Floor, FLOAT, 1, 1, kOnnx)       X(Ceil, FLOAT, 1, 1, kOnnx)    X(Round, FLOAT, 1, 1, kOnnx)   \
  X(Tanh, FLOAT, 1, 10, kOnnx)       X(Sigmoid, FLOAT, 1, 10, kOnnx) X(Erf, FLOAT, 1, 10, kOnnx)   \
  X(Softplus, FLOAT, 1, 10, kOnnx)   X(Softsign, FLOAT, 1, 1, kOnnx)                               \
  X(HardSwish, FLOAT, 1, 1, kOnnx)   X(Mish, FLOAT, 1, 10, kOnnx)                                  \
  X(Gelu, FLOAT, 1, 10, kNone)       X(GeluTanh, FLOAT, 1, 10, kNone)                              \
  X(Sin, FLOAT, 1, 10, kOnnx)        X(Cos, FLOAT, 1, 10, kOnnx)    X(Tan, FLOAT, 1, 100, kOnnx)   \
  X(Asin, FLOAT, 1, 100, kOnnx)      X(Acos, FLOAT, 1, 100, kOnnx)  X(Atan, FLOAT, 1, 100, kOnnx)  \
  X(Sinh, FLOAT, 1, 100, kOnnx)      X(Cosh, FLOAT, 1, 100, kOnnx)                                 \
  X(Asinh, FLOAT, 1, 100, kOnnx)     X(Acosh, FLOAT, 1, 100, kOnnx) X(Atanh, FLOAT, 1, 100, kOnnx) \
  X(IsNaN, FLOAT, 1, 1, kOnnx)       X(IsInf, FLOAT, 1, 1, kNone)                                  \
  X(LeakyRelu, FLOAT, 2, 1, kOnnx, {"alpha", 0.01})                                                \
  X(ThresholdedRelu, FLOAT, 2, 1, kOnnx, {"alpha", 1.0})                                           \
  X(Elu, FLOAT, 2, 10, kOnnx, {"alpha", 1.0})                                                      \
  X(Celu, FLOAT, 2, 10, kOnnx, {"alpha", 1.0})                                                     \
  X(Selu, FLOAT, 3, 10, kOnnx, {"alpha", kSeluAlpha}, {"gamma", kSeluGamma})                       \
  X(HardSigmoid, FLOAT, 3, 1, kOnnx, {"alpha", 0.2}, {"beta", 0.5})                                \
  X(ReluGrad, FLOAT, 2, 1, kGrad)    X(TanhGrad, FLOAT, 2, 1, kGrad)                               \
  X(SigmoidGrad, FLOAT, 2, 1, kGrad)                                                               \
  X(GeluGrad, FLOAT, 2, 10, kNone)   X(GeluTanhGrad, FLOAT, 2, 10, kNone)                          \
  X(Add, ANY, 2, 1, kOnnx)           X(Sub, ANY, 2, 1, kOnnx)       X(Mul, ANY, 2, 1, kOnnx)       \
  X(Div, ANY, 2, 3, kOnnx)           X(Pow, ANY, 2, 100, kOnnx)     X(Fmod, ANY, 2, 100, kNone)    \
  X(Mod, INTEGER, 2, 100, kNone)     X(Min, ANY, 2, 1, kNone)       X(Max, ANY, 2, 1, kNone)       \
  X(Equal, ANY, 2, 1, kOnnx)         X(Less, ANY, 2, 1, kOnnx)      X(LessOrEqual, ANY, 2, 1, kOnnx) \
  X(Greater, ANY, 2, 1, kOnnx)       X(GreaterOrEqual, ANY, 2, 1, kOnnx)                           \
  X(And, ANY, 2, 1, kOnnx)           X(Or, ANY, 2, 1, kOnnx)        X(Xor, ANY, 2, 1, kOnnx)       \
  X(BitwiseAnd, INTEGER, 2, 1, kOnnx) X(BitwiseOr, INTEGER, 2, 1, kOnnx)                           \
  X(BitwiseXor, INTEGER, 2, 1, kOnnx)                                                              \
  X(ShiftLeft, INTEGER, 2, 1, kNone) X(ShiftRight, INTEGER, 2, 1, kNone)                           \
  X(MulAdd, FLOAT, 3, 1, kNone)      X(Where, ANY, 3, 1, kOnnx)     X(Clip, ANY, 3, 1, kNone)
// clang-format on

// ONNX's defaults.
inline constexpr double kSeluAlpha = 1.67326319217681884765625;
inline constexpr double kSeluGamma = 1.05070102214813232421875;

enum class ElementOp : uint8_t {
#define HR_NAME(name, ...) k##name,
  HR_ELEMENT_OPS(HR_NAME)
#undef HR_NAME
      kCount
};
inline constexpr int kElementOps = static_cast<int>(ElementOp::kCount);

// An attribute that is an operand.
struct ElementAttribute {
  Literal name = "";
  double otherwise = 0;
};

// A row of the table.
struct ElementOpInfo {
  enum class Operator : uint8_t { kNone, kOnnx, kGrad };
  std::string_view name;
  uint8_t operands;
  uint8_t cost;
  Operator of;
  std::array<ElementAttribute, 2> attributes;  // those that have a name
};

const ElementOpInfo& InfoOf(ElementOp op);

// Returns the function that an operator computes of its inputs and attributes; nothing if it is no
// element-wise operator or one that computes different functions (Min, Clip, Gelu, …).
std::optional<ElementOp> ElementOpOf(std::string_view domain, std::string_view name);

}  // namespace hr::ops
