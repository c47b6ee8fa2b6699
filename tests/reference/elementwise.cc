#include <cmath>

#include "tests/reference/functions.h"

namespace hr::reference {
namespace {

template <Number (*F)(Number)>
void Unary(Call& call) {
  Array out = call.In(0);
  for (Number& x : out.data) x = Fit(out.dtype, F(x));
  call.Out(0, std::move(out));
}

using BinaryFunction = Number (*)(Number, Number);

Array Broadcast(const Array& a, const Array& b, DType dtype, BinaryFunction f) {
  Array out(dtype, BroadcastDims(a.dims, b.dims).value());
  ForEach(out.dims, [&](const Dims& i) { out[i] = Fit(dtype, f(a.Broadcast(i), b.Broadcast(i))); });
  return out;
}

template <BinaryFunction F>
void Binary(Call& call) {
  call.Out(0, Broadcast(call.In(0), call.In(1), call.In(0).dtype, F));
}

template <BinaryFunction F>
void Compare(Call& call) {
  call.Out(0, Broadcast(call.In(0), call.In(1), DType::kBool, F));
}

template <BinaryFunction F>
void Variadic(Call& call) {
  Array out = call.In(0);
  for (size_t i = 1; i < call.inputs.size(); ++i) out = Broadcast(out, call.In(i), out.dtype, F);
  call.Out(0, std::move(out));
}

Number Sum2(Number a, Number b) { return a + b; }
Number Less2(Number a, Number b) { return a < b; }
Number Max2(Number a, Number b) { return std::isnan(a) || a > b ? a : b; }
Number Min2(Number a, Number b) { return std::isnan(a) || a < b ? a : b; }

void Mean(Call& call) {
  Variadic<Sum2>(call);
  for (Number& x : call.outputs[0].data) x /= static_cast<Number>(call.inputs.size());
}

// Integers by multiplication, so that they stay exact.
Number Power(Number base, Number exponent) {
  bool whole = std::trunc(base) == base && std::trunc(exponent) == exponent;
  if (!whole || exponent < 0 || exponent > 64) return std::pow(base, exponent);
  Number out = 1;
  for (int i = 0; i < static_cast<int>(exponent); ++i) out *= base;
  return out;
}

// fmod takes the dividend's sign, otherwise the result has the divisor's.
Number Remainder(Number a, Number b) { return std::fmod(a, b); }
Number FloorRemainder(Number a, Number b) { return a - b * std::floor(a / b); }
void Mod(Call& call) {
  call.Int("fmod", 0) != 0 ? Binary<Remainder>(call) : Binary<FloorRemainder>(call);
}

Number Positive(Number x) { return x > 0; }
Number Sign(Number x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
Number Sigmoid(Number x) { return 1 / (1 + std::exp(-x)); }
Number Softplus(Number x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
Number HardSigmoid(Number x, Number alpha, Number beta) {
  return std::min<Number>(1, std::max<Number>(0, alpha * x + beta));
}

// Applies a function that needs attributes.
void Map(Call& call, const std::function<Number(Number)>& f) {
  Array out = call.In(0);
  for (Number& x : out.data) x = f(x);
  call.Out(0, std::move(out));
}

void LeakyRelu(Call& call) {
  Number alpha = call.Float("alpha", 0.01);
  Map(call, [&](Number x) { return x < 0 ? alpha * x : x; });
}
void Elu(Call& call) {
  Number alpha = call.Float("alpha", 1);
  Map(call, [&](Number x) { return x < 0 ? alpha * std::expm1(x) : x; });
}
void Selu(Call& call) {
  Number alpha = call.Float("alpha", 1.67326319217681884765625);
  Number gamma = call.Float("gamma", 1.05070102214813232421875);
  Map(call, [&](Number x) { return gamma * (x <= 0 ? alpha * std::expm1(x) : x); });
}
void Celu(Call& call) {
  Number alpha = call.Float("alpha", 1);
  Map(call, [&](Number x) { return x < 0 ? alpha * std::expm1(x / alpha) : x; });
}
void ThresholdedRelu(Call& call) {
  Number alpha = call.Float("alpha", 1);
  Map(call, [&](Number x) { return x > alpha ? x : 0; });
}
void HardSigmoidFunction(Call& call) {
  Number alpha = call.Float("alpha", 0.2);
  Number beta = call.Float("beta", 0.5);
  Map(call, [&](Number x) { return HardSigmoid(x, alpha, beta); });
}

// x times the normal distribution function, or its approximation by tanh (Hendrycks and Gimpel).
struct GeluPoint {
  Number value;
  Number slope;
};
GeluPoint Gelu(Number x, bool approximate) {
  if (!approximate) {
    Number phi = std::erfc(-x / std::sqrt(Number{2})) / 2;
    Number density = std::exp(-x * x / 2) / std::sqrt(2 * std::acos(Number{-1}));
    return {x * phi, phi + x * density};
  }
  Number scale = std::sqrt(2 / std::acos(Number{-1}));
  Number t = std::tanh(scale * (x + Number{0.044715L} * x * x * x));
  Number inner = scale * (1 + 3 * Number{0.044715L} * x * x);
  return {x * (1 + t) / 2, (1 + t) / 2 + x * (1 - t * t) * inner / 2};
}
void GeluFunction(Call& call) {
  bool approximate = call.String("approximate", "none") == "tanh";
  Map(call, [&](Number x) { return Gelu(x, approximate).value; });
}
void GeluGrad(Call& call) {
  bool approximate = call.String("approximate", "none") == "tanh";
  Array out = call.In(0);
  for (size_t i = 0; i < out.size(); ++i)
    out.data[i] *= Gelu(call.In(1).data[i], approximate).slope;
  call.Out(0, std::move(out));
}

void PRelu(Call& call) {
  Array out = call.In(0);
  ForEach(out.dims, [&](const Dims& i) {
    if (out[i] < 0) out[i] *= call.In(1).Broadcast(i);
  });
  call.Out(0, std::move(out));
}

void Clip(Call& call) {
  Array out = call.In(0);
  for (Number& x : out.data) {
    if (call.Has(1)) x = Max2(x, call.In(1).data[0]);
    if (call.Has(2)) x = Min2(x, call.In(2).data[0]);
  }
  call.Out(0, std::move(out));
}

void Where(Call& call) {
  Array out(call.In(1).dtype, BroadcastShape(call));
  ForEach(out.dims, [&](const Dims& i) {
    out[i] = call.In(call.In(0).Broadcast(i) != 0 ? 1 : 2).Broadcast(i);
  });
  call.Out(0, std::move(out));
}

void Not(Call& call) {
  Map(call, [](Number x) -> Number { return x == 0; });
}

void IsNaN(Call& call) {
  Map(call, [](Number x) -> Number { return std::isnan(x); });
  call.outputs[0].dtype = DType::kBool;
}

void IsInf(Call& call) {
  bool positive = call.Int("detect_positive", 1) != 0;
  bool negative = call.Int("detect_negative", 1) != 0;
  Map(call, [&](Number x) -> Number { return std::isinf(x) && (x > 0 ? positive : negative); });
  call.outputs[0].dtype = DType::kBool;
}

void CastTo(Call& call, DType dtype) {
  Array out = call.In(0);
  out.dtype = dtype;
  for (Number& x : out.data) x = Fit(dtype, x);
  call.Out(0, std::move(out));
}
void Cast(Call& call) { CastTo(call, static_cast<DType>(call.Int("to", 0))); }
void CastLike(Call& call) { CastTo(call, call.In(1).dtype); }

// dx = dy * slope(y)
template <Number (*Slope)(Number)>
void GradFromOutput(Call& call) {
  Array out = call.In(0);
  for (size_t i = 0; i < out.size(); ++i) out.data[i] *= Slope(call.In(1).data[i]);
  call.Out(0, std::move(out));
}

constexpr std::string_view kGrad = "headrace.grad";

const Entry kElementwiseEntries[] = {
    {"", "Add", Binary<Sum2>},
    {"", "Sub", Binary<[](Number a, Number b) { return a - b; }>},
    {"", "Mul", Binary<[](Number a, Number b) { return a * b; }>},
    {"", "Div", Binary<[](Number a, Number b) { return a / b; }>},  // integers truncate
    {"", "Pow", Binary<Power>},
    {"", "Mod", Mod},
    {"", "Sum", Variadic<Sum2>},
    {"", "Mean", Mean},
    {"", "Max", Variadic<Max2>},
    {"", "Min", Variadic<Min2>},
    {"", "Equal", Compare<[](Number a, Number b) -> Number { return a == b; }>},
    {"", "Greater", Compare<[](Number a, Number b) { return Less2(b, a); }>},
    {"", "Less", Compare<Less2>},
    {"", "GreaterOrEqual", Compare<[](Number a, Number b) -> Number { return a >= b; }>},
    {"", "LessOrEqual", Compare<[](Number a, Number b) -> Number { return a <= b; }>},
    {"", "And", Compare<[](Number a, Number b) -> Number { return a != 0 && b != 0; }>},
    {"", "Or", Compare<[](Number a, Number b) -> Number { return a != 0 || b != 0; }>},
    {"", "Xor", Compare<[](Number a, Number b) -> Number { return a != b; }>},
    {"", "Not", Not},
    {"", "IsNaN", IsNaN},
    {"", "IsInf", IsInf},
    {"", "Where", Where},
    {"", "Cast", Cast},
    {"", "CastLike", CastLike},
    {"", "Abs", Unary<[](Number x) { return std::fabs(x); }>},
    {"", "Neg", Unary<[](Number x) { return -x; }>},
    {"", "Sqrt", Unary<[](Number x) { return std::sqrt(x); }>},
    {"", "Exp", Unary<[](Number x) { return std::exp(x); }>},
    {"", "Log", Unary<[](Number x) { return std::log(x); }>},
    {"", "Reciprocal", Unary<[](Number x) { return 1 / x; }>},
    {"", "Sin", Unary<[](Number x) { return std::sin(x); }>},
    {"", "Cos", Unary<[](Number x) { return std::cos(x); }>},
    {"", "Tan", Unary<[](Number x) { return std::tan(x); }>},
    {"", "Asin", Unary<[](Number x) { return std::asin(x); }>},
    {"", "Acos", Unary<[](Number x) { return std::acos(x); }>},
    {"", "Atan", Unary<[](Number x) { return std::atan(x); }>},
    {"", "Sinh", Unary<[](Number x) { return std::sinh(x); }>},
    {"", "Cosh", Unary<[](Number x) { return std::cosh(x); }>},
    {"", "Asinh", Unary<[](Number x) { return std::asinh(x); }>},
    {"", "Acosh", Unary<[](Number x) { return std::acosh(x); }>},
    {"", "Atanh", Unary<[](Number x) { return std::atanh(x); }>},
    {"", "Erf", Unary<[](Number x) { return std::erf(x); }>},
    {"", "Floor", Unary<[](Number x) { return std::floor(x); }>},
    {"", "Ceil", Unary<[](Number x) { return std::ceil(x); }>},
    {"", "Round", Unary<[](Number x) { return std::nearbyint(x); }>},
    {"", "Sign", Unary<Sign>},
    {"", "Relu", Unary<[](Number x) { return x < 0 ? 0 : x; }>},
    {"", "Tanh", Unary<[](Number x) { return std::tanh(x); }>},
    {"", "Sigmoid", Unary<Sigmoid>},
    {"", "Softplus", Unary<Softplus>},
    {"", "Softsign", Unary<[](Number x) { return x / (1 + std::fabs(x)); }>},
    {"", "HardSwish", Unary<[](Number x) { return x * HardSigmoid(x, Number{1} / 6, 0.5); }>},
    {"", "Mish", Unary<[](Number x) { return x * std::tanh(Softplus(x)); }>},
    {"", "LeakyRelu", LeakyRelu},
    {"", "Elu", Elu},
    {"", "Selu", Selu},
    {"", "Celu", Celu},
    {"", "ThresholdedRelu", ThresholdedRelu},
    {"", "HardSigmoid", HardSigmoidFunction},
    {"", "Gelu", GeluFunction},
    {"", "PRelu", PRelu},
    {"", "Clip", Clip},
    {kGrad, "ReluGrad", GradFromOutput<Positive>},
    {kGrad, "TanhGrad", GradFromOutput<[](Number y) { return 1 - y * y; }>},
    {kGrad, "SigmoidGrad", GradFromOutput<[](Number y) { return y * (1 - y); }>},
    {kGrad, "GeluGrad", GeluGrad},
};

}  // namespace

Dims BroadcastShape(const Call& call) {
  Dims dims;
  for (const Array* input : call.inputs) dims = BroadcastDims(dims, input->dims).value();
  return dims;
}

std::span<const Entry> ElementwiseFunctions() { return kElementwiseEntries; }

}  // namespace hr::reference
