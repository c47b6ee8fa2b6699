// Arithmetic with broadcasting.
#include "runtime/ops/builtin.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/infer.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kModAttributes[] = {{"fmod", AttributeKind::kFlag}};

// Broadcasts as the others, but the exponent may have a type of its own.
Status InferPow(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectNumeric(0));
  HR_RETURN_IF_ERROR(context.ExpectNumeric(1));
  ValueType out = context.input(0);
  HR_RETURN_IF_ERROR(BroadcastInto(context, context.input(1), out));
  context.SetOutput(0, std::move(out));
  return {};
}

Status InferMod(InferContext& context) {
  if (IsFloating(context.input(0).dtype) && context.node().Int("fmod", 0) == 0) {
    return InvalidArgument("Mod of floating-point numbers wants its attribute fmod = 1, got ",
                           context.InputText(0));
  }
  return InferBroadcast(context);
}

// Sets the gradient of a broadcast input.
void SetSummed(GradientContext& g, size_t i, ValueId grad) {
  g.SetGrad(i, g.SumTo(grad, g.input(i)));
}

void AddGradient(GradientContext& g) {
  for (size_t i = 0; i < g.input_count(); ++i) {
    if (g.wants(i)) SetSummed(g, i, g.grad(0));
  }
}

void SubGradient(GradientContext& g) {
  if (g.wants(0)) SetSummed(g, 0, g.grad(0));
  if (g.wants(1)) SetSummed(g, 1, g.Neg(g.grad(0)));
}

void MulGradient(GradientContext& g) {
  if (g.wants(0)) SetSummed(g, 0, g.Mul(g.grad(0), g.input(1)));
  if (g.wants(1)) SetSummed(g, 1, g.Mul(g.grad(0), g.input(0)));
}

void DivGradient(GradientContext& g) {
  ValueId share = g.Div(g.grad(0), g.input(1));
  if (g.wants(0)) SetSummed(g, 0, share);
  if (g.wants(1)) SetSummed(g, 1, g.Neg(g.Mul(share, g.output(0))));
}

// y = a - b trunc(a / b), so the quotient is (a - y) / b.
void ModGradient(GradientContext& g) {
  if (g.wants(0)) SetSummed(g, 0, g.grad(0));
  if (g.wants(1)) {
    ValueId quotient = g.Div(g.Sub(g.input(0), g.output(0)), g.input(1));
    SetSummed(g, 1, g.Neg(g.Mul(g.grad(0), quotient)));
  }
}

// If the exponent is 0, the base's gradient is 0, even at 0. If the base is not positive, the
// exponent's gradient is 0.
void PowGradient(GradientContext& g) {
  ValueId x = g.input(0);
  ValueId exponent = g.CastLike(g.input(1), x);
  if (g.wants(0)) {
    ValueId is_zero = g.Emit("Equal", {exponent, g.Scalar(0, x)});
    ValueId lower = g.Emit("Where", {is_zero, g.Scalar(1, x), g.Sub(exponent, g.Scalar(1, x))});
    SetSummed(g, 0, g.Mul(g.grad(0), g.Mul(exponent, g.Emit("Pow", {x, lower}))));
  }
  if (g.wants(1)) {
    ValueId positive = g.Emit("Greater", {x, g.Scalar(0, x)});
    ValueId log = g.Emit("Log", {g.Emit("Where", {positive, x, g.Scalar(1, x)})});
    ValueId grad = g.Mul(g.grad(0), g.Mul(g.output(0), log));
    SetSummed(g, 1, g.CastLike(grad, g.input(1)));
  }
}

void MeanGradient(GradientContext& g) {
  ValueId share = g.Scale(g.grad(0), 1.0 / static_cast<double>(g.input_count()));
  for (size_t i = 0; i < g.input_count(); ++i) {
    if (g.wants(i)) SetSummed(g, i, share);
  }
}

// Inputs that equal the extreme share its gradient.
void ExtremeGradient(GradientContext& g) {
  std::vector<ValueId> chosen;
  ValueId count = kNone;
  for (size_t i = 0; i < g.input_count(); ++i) {
    chosen.push_back(g.CastLike(g.Emit("Equal", {g.input(i), g.output(0)}), g.input(i)));
    count = i == 0 ? chosen[0] : g.Add(count, chosen[i]);
  }
  ValueId share = g.Div(g.grad(0), count);
  for (size_t i = 0; i < g.input_count(); ++i) {
    if (g.wants(i)) SetSummed(g, i, g.Mul(share, chosen[i]));
  }
}

using Gradient = void (*)(GradientContext&);

constexpr OpDef Binary(Literal name, Gradient gradient) {
  return {.domain = kOnnx,
          .name = name,
          .since_version = 7,
          .inputs = {2, 2},
          .infer = InferBroadcast,
          .gradient = gradient};
}
constexpr OpDef Variadic(Literal name, Gradient gradient) {
  return {.domain = kOnnx,
          .name = name,
          .since_version = 8,
          .inputs = {1, kUnlimited},
          .infer = InferBroadcast,
          .gradient = gradient};
}

constexpr OpDef kElementwiseOps[] = {
    Binary("Add", AddGradient),
    Binary("Sub", SubGradient),
    Binary("Mul", MulGradient),
    Binary("Div", DivGradient),
    // (base, exponent); 0 where the exponent's derivative is not defined
    {.domain = kOnnx,
     .name = "Pow",
     .since_version = 7,
     .inputs = {2, 2},
     .infer = InferPow,
     .gradient = PowGradient},
    {.domain = kOnnx,
     .name = "Mod",
     .since_version = 10,
     .inputs = {2, 2},
     .attributes = kModAttributes,
     .infer = InferMod,
     .gradient = ModGradient},
    Variadic("Sum", AddGradient),
    Variadic("Mean", MeanGradient),
    Variadic("Max", ExtremeGradient),
    Variadic("Min", ExtremeGradient),
};

}  // namespace

OpFamily ElementwiseOps() { return Chosen<kElementwiseOps>(); }

}  // namespace hr::ops
