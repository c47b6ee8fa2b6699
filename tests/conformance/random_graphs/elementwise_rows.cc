// Element-wise operators.
#include <cmath>
#include <limits>

#include "tests/conformance/random_graphs/rows.h"

namespace hr::random_graphs {
namespace {

Wanted First(const Row& row) { return {.types = row.types, .low = row.low, .high = row.high}; }

std::string Unary(Draft& draft, const Row& row) {
  return draft.One(row.op, row.version, {draft.Operand(First(row))});
}

std::string Binary(Draft& draft, const Row& row) {
  const std::string x = draft.Operand(First(row));
  if (x.empty()) return "";
  return draft.One(row.op, row.version, {x, draft.Partner(x)});
}

// The second operand stays away from 0.
std::string Quotient(Draft& draft, const Row& row) {
  const std::string x = draft.Operand(First(row));
  if (x.empty()) return "";
  const bool floating = IsFloating(draft[x].dtype);
  const std::string y = draft.Partner(x, floating ? 0.3 : 1, floating ? 1e30 : 9);
  std::vector<NamedAttribute> attributes;
  if (std::string(row.op) == "Mod" && (floating || draft.rng().Chance(50)))
    attributes.push_back(Int("fmod", 1));
  return draft.One(row.op, row.version, {x, y}, attributes);
}

std::string Power(Draft& draft, const Row& row) {
  const std::string x = draft.Operand({.types = row.types, .low = 0.2, .high = 3});
  if (x.empty()) return "";
  const bool floating = IsFloating(draft[x].dtype);
  if (draft.rng().Chance(70)) {
    return draft.One("Pow", row.version, {x, draft.Partner(x, floating ? -2 : 0, 3)});
  }
  const DType other = draft.AnyType(kNumbers);  // integers may have a root
  const Dims dims = draft.SmallerDims(draft[x].dims);
  return draft.One("Pow", row.version, {x, draft.Leaf(other, dims, IsFloating(other) ? -2 : 0, 3)});
}

std::string Variadic(Draft& draft, const Row& row) {
  const std::string x = draft.Operand(First(row));
  if (x.empty()) return "";
  std::vector<std::string> operands = {x};
  Dims dims = draft[x].dims;
  for (int64_t i = draft.rng().Between(0, 3); i > 0; --i) {
    const std::string other = draft.Partner(x);
    auto together = BroadcastDims(dims, draft[other].dims);
    if (!together.ok()) continue;  // it fits the first, but not the others
    dims = std::move(together).value();
    operands.push_back(other);
  }
  return draft.One(row.op, row.version, operands);
}

// alpha, and what else the operator has.
std::string WithAlpha(Draft& draft, const Row& row) {
  std::vector<NamedAttribute> attributes;
  const std::string op = row.op;
  const double size = static_cast<double>(draft.rng().Between(1, 12)) / 8;
  if (draft.rng().Chance(70)) attributes.push_back(Float("alpha", size));
  if (op == "HardSigmoid" && draft.rng().Chance(50)) attributes.push_back(Float("beta", 0.25));
  if (op == "Selu" && draft.rng().Chance(50)) attributes.push_back(Float("gamma", 1.25));
  return draft.One(op, row.version, {draft.Operand(First(row))}, attributes);
}

std::string Shrink(Draft& draft, const Row& row) {
  std::vector<NamedAttribute> attributes;
  if (draft.rng().Chance(60)) attributes.push_back(Float("lambd", 0.75));
  if (draft.rng().Chance(60)) attributes.push_back(Float("bias", 0.25));
  return draft.One(row.op, row.version, {draft.Operand(First(row))}, attributes);
}

// Of unsigned integers.
std::string BitShift(Draft& draft, const Row& row) {
  const auto is_unsigned = [](const Known& k) { return DTypeName(k.dtype)[0] == 'u'; };
  std::string x = draft.Find(is_unsigned);
  if (x.empty() || draft.rng().Chance(20)) {
    const DType dtype =
        draft.rng().Pick({DType::kUint8, DType::kUint16, DType::kUint32, DType::kUint64});
    x = draft.Leaf(dtype, draft.AnyDims(), 0, 9);
  }
  return draft.One(row.op, row.version, {x, draft.Partner(x, 0, 80)},
                   {String("direction", draft.rng().Pick({"LEFT", "RIGHT"}))});
}

// To integers of the same size, which may be any.
std::string BitCast(Draft& draft, const Row& row) {
  const std::string x = draft.Operand(First(row));
  if (x.empty()) return "";
  std::vector<DType> types;
  for (DType to : {DType::kInt8, DType::kUint8, DType::kInt16, DType::kUint16, DType::kInt32,
                   DType::kUint32, DType::kInt64, DType::kUint64}) {
    if (DTypeSize(to) == DTypeSize(draft[x].dtype)) types.push_back(to);
  }
  return draft.One(row.op, row.version, {x},
                   {Int("to", static_cast<int64_t>(draft.rng().Pick(types)))});
}

std::string Gelu(Draft& draft, const Row& row) {
  std::vector<NamedAttribute> attributes;
  if (draft.rng().Chance(50)) attributes.push_back(String("approximate", "tanh"));
  return draft.One(row.op, row.version, {draft.Operand(First(row))}, attributes);
}

std::string PRelu(Draft& draft, const Row& row) {
  const std::string x = draft.Operand(First(row));
  if (x.empty()) return "";
  const Known known = draft[x];
  return draft.One(row.op, row.version,
                   {x, draft.Leaf(known.dtype, draft.SmallerDims(known.dims), 0, 1)});
}

std::string Clip(Draft& draft, const Row& row) {
  const std::string x = draft.Operand(First(row));
  if (x.empty()) return "";
  std::vector<std::string> operands = {x, "_", "_"};
  const DType dtype = draft[x].dtype;
  if (draft.rng().Chance(70)) operands[1] = draft.Leaf(dtype, {}, -1, 0.5);
  if (draft.rng().Chance(70)) operands[2] = draft.Leaf(dtype, {}, 1, 3);
  while (operands.back() == "_") operands.pop_back();
  return draft.One(row.op, row.version, operands);
}

std::string Where(Draft& draft, const Row& row) {
  const std::string x = draft.Operand(First(row));
  if (x.empty()) return "";
  const std::string other = draft.Partner(x);
  const Dims dims = BroadcastDims(draft[x].dims, draft[other].dims).value();
  std::string condition = draft.Find(
      [&](const Known& k) { return k.dtype == DType::kBool && BroadcastDims(k.dims, dims).ok(); });
  if (condition.empty() || draft.rng().Chance(30))
    condition = draft.Leaf(DType::kBool, draft.SmallerDims(dims), 0, 1);
  return draft.One(row.op, row.version, {condition, x, other});
}

// Numbers that are none, or infinite, for the operators that ask.
std::string Special(Draft& draft, const Row& row) {
  const double inf = std::numeric_limits<double>::infinity();
  const DType dtype = draft.AnyType(kReal);
  std::vector<NamedAttribute> attributes;
  for (const char* name : {"detect_negative", "detect_positive"}) {
    if (std::string(row.op) == "IsInf" && draft.rng().Chance(30))
      attributes.push_back(Int(name, 0));
  }
  const int64_t choice = draft.rng().Between(0, 2);
  std::string x = draft.Operand({.types = kReal});
  if (choice != 0) {
    x = draft.Special({.dtype = dtype,
                       .dims = {7},
                       .kind = "values",
                       .values = {1, inf, -inf, std::nan(""), 0, -2.5, inf}});
  }
  return draft.One(row.op, row.version, {x}, attributes);
}

std::string Cast(Draft& draft, const Row& row) {
  const std::string x = draft.Operand(First(row));
  if (x.empty()) return "";
  const Known known = draft[x];
  DType to = draft.AnyType(kAny);
  // The range of what is drawn when it runs is not known here.
  const bool negative = known.low <= -1 || draft.program().random();
  if (negative && (KindOf(to) & kIntegers) != 0)
    to = draft.rng().Pick({DType::kInt32, DType::kInt64});
  // What an integer cannot hold is left open.
  if (IsFloating(known.dtype) && !IsFloating(to) && (known.high > 120 || known.low < -120))
    return "";
  if (std::string(row.op) == "Cast")
    return draft.One("Cast", row.version, {x}, {Int("to", static_cast<int64_t>(to))});
  return draft.One("CastLike", row.version, {x, draft.Leaf(to, {1}, 0, 1)});
}

const Row kElementwiseRows[] = {
    {"Add", 14, Binary, kNumbers, -1e30, 1e30, 3},
    {"Sub", 14, Binary, kNumbers, -1e30, 1e30, 2},
    {"Mul", 14, Binary, kNumbers, -50, 50, 3},
    {"Div", 14, Quotient, kNumbers, -1e30, 1e30, 2},
    {"Mod", 13, Quotient, kNumbers},
    {"Pow", 15, Power, kNumbers},
    {"Sum", 13, Variadic, kReal},
    {"Mean", 13, Variadic, kReal},
    {"Max", 13, Variadic, kNumbers},
    {"Min", 13, Variadic, kNumbers},
    {"Abs", 13, Unary, kNumbers},
    {"Neg", 13, Unary, kReal | kWords},
    {"Sign", 13, Unary, kNumbers},
    {"Floor", 13, Unary, kReal},
    {"Ceil", 13, Unary, kReal},
    {"Round", 11, Unary, kReal},
    {"Sqrt", 13, Unary, kReal, 0.01},
    {"Exp", 13, Unary, kReal, -8, 4},
    {"Log", 13, Unary, kReal, 0.05},
    {"Reciprocal", 13, Unary, kReal, 0.2},
    {"Sin", 7, Unary, kReal, -50, 50},
    {"Cos", 7, Unary, kReal, -50, 50},
    {"Tan", 7, Unary, kReal, -1.3, 1.3},
    {"Asin", 7, Unary, kReal, -0.95, 0.95},
    {"Acos", 7, Unary, kReal, -0.95, 0.95},
    {"Atan", 7, Unary, kReal},
    {"Sinh", 9, Unary, kReal, -4, 4},
    {"Cosh", 9, Unary, kReal, -4, 4},
    {"Asinh", 9, Unary, kReal},
    {"Acosh", 9, Unary, kReal, 1.05},
    {"Atanh", 9, Unary, kReal, -0.95, 0.95},
    {"Erf", 13, Unary, kReal},
    {"Relu", 14, Unary, kReal, -1e30, 1e30, 2},
    {"Tanh", 13, Unary, kReal, -1e30, 1e30, 2},
    {"Sigmoid", 13, Unary, kReal, -40, 40, 2},
    {"Softplus", 1, Unary, kReal, -40, 40},
    {"Softsign", 1, Unary, kReal},
    {"HardSwish", 14, Unary, kReal},
    {"Mish", 18, Unary, kReal, -40, 40},
    {"LeakyRelu", 16, WithAlpha, kReal},
    {"Elu", 6, WithAlpha, kReal},
    {"Selu", 6, WithAlpha, kReal},
    {"Celu", 12, WithAlpha, kReal},
    {"ThresholdedRelu", 10, WithAlpha, kReal},
    {"HardSigmoid", 6, WithAlpha, kReal},
    {"Swish", 24, WithAlpha, kReal, -40, 40},
    {"Shrink", 9, Shrink, kReal | kWords},
    {"BitwiseAnd", 18, Binary, kIntegers},
    {"BitwiseOr", 18, Binary, kIntegers},
    {"BitwiseXor", 18, Binary, kIntegers},
    {"BitwiseNot", 18, Unary, kIntegers},
    {"BitShift", 11, BitShift},
    {"BitCast", 26, BitCast, kNumbers},
    {"Gelu", 20, Gelu, kReal, -40, 40, 2},
    {"PRelu", 16, PRelu, kReal},
    {"Clip", 13, Clip, kNumbers},
    {"Equal", 13, Binary, kNumbers},
    {"Greater", 13, Binary, kNumbers},
    {"Less", 13, Binary, kNumbers},
    {"GreaterOrEqual", 16, Binary, kNumbers},
    {"LessOrEqual", 16, Binary, kNumbers},
    {"And", 7, Binary, kBools},
    {"Or", 7, Binary, kBools},
    {"Xor", 7, Binary, kBools},
    {"Not", 1, Unary, kBools},
    {"IsNaN", 13, Special, kReal},
    {"IsInf", 10, Special, kReal},
    {"Where", 16, Where, kAny, -1e30, 1e30, 2},
    {"Cast", 13, Cast, kAny},
    {"Cast", 19, Cast, kAny},
    {"CastLike", 15, Cast, kAny},
    {"CastLike", 19, Cast, kAny},
    {"Identity", 16, Unary, kAny},
};

}  // namespace

std::span<const Row> ElementwiseRows() { return kElementwiseRows; }

}  // namespace hr::random_graphs
