// Mathematical functions of one number.
#include <numbers>

#include "runtime/ops/builtin.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/infer.h"

namespace hr::ops {
namespace {

ValueId Square(GradientContext& g, ValueId x) { return g.Mul(x, x); }
ValueId Apply(GradientContext& g, Literal name) { return g.Emit(name, {g.input(0)}); }

// 1 + sign * x²
ValueId OnePlus(GradientContext& g, double sign, ValueId x) {
  const ValueId square = g.Scale(Square(g, x), sign);
  return g.Add(g.Scalar(1, x), square);
}

// dx for dy = g.grad(0), x = g.input(0) and y = g.output(0)
ValueId AbsRule(GradientContext& g) { return g.Mul(g.grad(0), Apply(g, "Sign")); }
ValueId NegRule(GradientContext& g) { return g.Neg(g.grad(0)); }
ValueId SqrtRule(GradientContext& g) { return g.Div(g.Scale(g.grad(0), 0.5), g.output(0)); }
ValueId ExpRule(GradientContext& g) { return g.Mul(g.grad(0), g.output(0)); }
ValueId LogRule(GradientContext& g) { return g.Div(g.grad(0), g.input(0)); }
ValueId ReciprocalRule(GradientContext& g) {
  return g.Neg(g.Mul(g.grad(0), Square(g, g.output(0))));
}
ValueId SinRule(GradientContext& g) { return g.Mul(g.grad(0), Apply(g, "Cos")); }
ValueId CosRule(GradientContext& g) { return g.Neg(g.Mul(g.grad(0), Apply(g, "Sin"))); }
ValueId TanRule(GradientContext& g) { return g.Mul(g.grad(0), OnePlus(g, 1, g.output(0))); }
ValueId AsinRule(GradientContext& g) {
  return g.Div(g.grad(0), g.Emit("Sqrt", {OnePlus(g, -1, g.input(0))}));
}
ValueId AcosRule(GradientContext& g) { return g.Neg(AsinRule(g)); }
ValueId AtanRule(GradientContext& g) { return g.Div(g.grad(0), OnePlus(g, 1, g.input(0))); }
ValueId SinhRule(GradientContext& g) { return g.Mul(g.grad(0), Apply(g, "Cosh")); }
ValueId CoshRule(GradientContext& g) { return g.Mul(g.grad(0), Apply(g, "Sinh")); }
ValueId AsinhRule(GradientContext& g) {
  return g.Div(g.grad(0), g.Emit("Sqrt", {OnePlus(g, 1, g.input(0))}));
}
ValueId AcoshRule(GradientContext& g) {
  ValueId x = g.input(0);
  return g.Div(g.grad(0), g.Emit("Sqrt", {g.Sub(Square(g, x), g.Scalar(1, x))}));
}
ValueId AtanhRule(GradientContext& g) { return g.Div(g.grad(0), OnePlus(g, -1, g.input(0))); }
ValueId ErfRule(GradientContext& g) {
  ValueId bell = g.Emit("Exp", {g.Neg(Square(g, g.input(0)))});
  return g.Mul(g.grad(0), g.Scale(bell, 2 * std::numbers::inv_sqrtpi));
}

template <ValueId (*Rule)(GradientContext&)>
void UnaryGradient(GradientContext& g) {
  g.SetGrad(0, Rule(g));
}

template <ValueId (*Rule)(GradientContext&)>
constexpr OpDef Function(Literal name, int version) {
  return {.domain = kOnnx,
          .name = name,
          .since_version = version,
          .infer = InferFloatingUnary,
          .gradient = UnaryGradient<Rule>};
}
// Steps, whose gradient is 0.
constexpr OpDef Step(Literal name, int version, Status (*infer)(InferContext&)) {
  return {.domain = kOnnx, .name = name, .since_version = version, .infer = infer};
}

constexpr OpDef kUnaryOps[] = {
    {.domain = kOnnx,
     .name = "Abs",
     .since_version = 6,
     .infer = InferNumericUnary,
     .gradient = UnaryGradient<AbsRule>},
    {.domain = kOnnx,
     .name = "Neg",
     .since_version = 6,
     .infer = InferNumericUnary,
     .gradient = UnaryGradient<NegRule>},
    Function<SqrtRule>("Sqrt", 6),
    Function<ExpRule>("Exp", 6),
    Function<LogRule>("Log", 6),
    Function<ReciprocalRule>("Reciprocal", 6),
    Function<SinRule>("Sin", 7),
    Function<CosRule>("Cos", 7),
    Function<TanRule>("Tan", 7),
    Function<AsinRule>("Asin", 7),
    Function<AcosRule>("Acos", 7),
    Function<AtanRule>("Atan", 7),
    Function<SinhRule>("Sinh", 9),
    Function<CoshRule>("Cosh", 9),
    Function<AsinhRule>("Asinh", 9),
    Function<AcoshRule>("Acosh", 9),
    Function<AtanhRule>("Atanh", 9),
    Function<ErfRule>("Erf", 9),
    Step("Floor", 6, InferFloatingUnary),
    Step("Ceil", 6, InferFloatingUnary),
    Step("Round", 11, InferFloatingUnary),  // halves to even
    Step("Sign", 9, InferNumericUnary),
};

}  // namespace

OpFamily UnaryOps() { return Chosen<kUnaryOps>(); }

}  // namespace hr::ops
