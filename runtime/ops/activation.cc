// Activations. The common ones have gradient operators of their own, written in terms of the output
// where that saves keeping the input; the others' gradients are composed and left to fusion.
#include "runtime/ops/builtin.h"
#include "runtime/ops/compose.h"
#include "runtime/ops/element_op.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/infer.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kShrinkAttributes[] = {{"bias", AttributeKind::kFloat},
                                              {"lambd", AttributeKind::kFloat}};
constexpr AttributeDef kAlpha[] = {{"alpha", AttributeKind::kFloat}};
constexpr AttributeDef kAlphaBeta[] = {{"alpha", AttributeKind::kFloat},
                                       {"beta", AttributeKind::kFloat}};
constexpr AttributeDef kAlphaGamma[] = {{"alpha", AttributeKind::kFloat},
                                        {"gamma", AttributeKind::kFloat}};
constexpr AttributeDef kApproximate[] = {{"approximate", AttributeKind::kString}};

constexpr char kReluGrad[] = "ReluGrad";
constexpr char kTanhGrad[] = "TanhGrad";
constexpr char kSigmoidGrad[] = "SigmoidGrad";
constexpr char kGeluGrad[] = "GeluGrad";

Status InferGrad(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectSameDType(0, 1));
  return InferSameAsInput(context);
}

Status InferPRelu(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectNumeric(0));
  HR_RETURN_IF_ERROR(context.ExpectSameDType(0, 1));
  ValueType both = context.input(0);
  HR_RETURN_IF_ERROR(BroadcastInto(context, context.input(1), both));
  if (both.ranked && both.rank() != context.input(0).rank()) {
    return InvalidArgument("PRelu's slope does not broadcast to the input: ", context.InputText(1),
                           " and ", context.InputText(0));
  }
  return InferSameAsInput(context);
}

Status InferClip(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectNumeric(0));
  for (size_t i : {1, 2}) {
    HR_RETURN_IF_ERROR(context.ExpectSameDType(0, i));
    HR_RETURN_IF_ERROR(context.ExpectRank(i, 0));
  }
  return InferSameAsInput(context);
}

Status InferGelu(InferContext& context) {
  std::string_view mode = context.node().String("approximate", "none");
  if (!IsOneOf(mode, {"none", "tanh"})) {
    return InvalidArgument("Gelu's attribute 'approximate' is none or tanh, got '", mode, "'");
  }
  HR_RETURN_IF_ERROR(context.ExpectSameDType(0, 1));  // of the gradient
  return InferFloatingUnary(context);
}

void ComposeSwish(ComposeContext& c) {
  const ValueId x = c.input(0);
  c.SetOutput(0, c.Mul(x, c.Emit("Sigmoid", {c.Scale(x, c.node().Float("alpha", 1))})));
}

// x + bias below -lambd, x - bias above lambd, else 0.
void ComposeShrink(ComposeContext& c) {
  const ValueId given = c.input(0);
  if (!c.ok()) return;
  const DType dtype = c.type(given).dtype;
  const ValueId x = IsFloating(dtype) ? given : c.Cast(given, DType::kFloat64);
  const double limit = c.node().Float("lambd", 0.5), bias = c.node().Float("bias", 0);
  const ValueId below = c.Emit("Less", {x, c.Scalar(-limit, x)});
  const ValueId above = c.Emit("Greater", {x, c.Scalar(limit, x)});
  const ValueId inner = c.Emit("Where", {above, c.Sub(x, c.Scalar(bias, x)), c.Scalar(0, x)});
  c.SetOutput(0, c.Cast(c.Emit("Where", {below, c.Add(x, c.Scalar(bias, x)), inner}), dtype));
}

// A gradient operator (dy, y) → dx.
template <const char* Name>
void FromOutput(GradientContext& g) {
  g.SetGrad(0, g.EmitGrad(Literal::Kept(Name), {g.grad(0), g.output(0)}));
}

void GeluGradient(GradientContext& g) {
  g.SetGrad(0, g.EmitGradAlike(kGeluGrad, {g.grad(0), g.input(0)}));
}

// `above` where x > threshold, else `below`.
ValueId Above(GradientContext& g, double threshold, ValueId above, ValueId below) {
  ValueId x = g.input(0);
  return g.Emit("Where", {g.Emit("Greater", {x, g.Scalar(threshold, x)}), above, below});
}

// dx for dy = g.grad(0), x = g.input(0) and y = g.output(0)
ValueId LeakyReluRule(GradientContext& g) {
  return Above(g, 0, g.grad(0), g.Scale(g.grad(0), g.node().Float("alpha", 0.01)));
}
// By exp(x): y + alpha, which is the same, has no digits left far below 0.
ValueId EluRule(GradientContext& g) {
  ValueId slope = g.Scale(g.Emit("Exp", {g.input(0)}), g.node().Float("alpha", 1));
  return Above(g, 0, g.grad(0), g.Mul(g.grad(0), slope));
}
ValueId SeluRule(GradientContext& g) {
  double gamma = g.node().Float("gamma", kSeluGamma);
  double alpha = g.node().Float("alpha", kSeluAlpha);
  ValueId slope = g.Scale(g.Emit("Exp", {g.input(0)}), gamma * alpha);
  return Above(g, 0, g.Scale(g.grad(0), gamma), g.Mul(g.grad(0), slope));
}
ValueId CeluRule(GradientContext& g) {
  double alpha = g.node().Float("alpha", 1);
  ValueId slope = g.Emit("Exp", {g.Scale(g.input(0), 1 / alpha)});
  return Above(g, 0, g.grad(0), g.Mul(g.grad(0), slope));
}
ValueId ThresholdedReluRule(GradientContext& g) {
  return Above(g, g.node().Float("alpha", 1), g.grad(0), g.Scalar(0, g.input(0)));
}
ValueId SoftplusRule(GradientContext& g) {
  return g.Mul(g.grad(0), g.Emit("Sigmoid", {g.input(0)}));
}
ValueId SoftsignRule(GradientContext& g) {
  ValueId x = g.input(0);
  ValueId size = g.Emit("Abs", {x});
  ValueId sum = g.Add(g.Scalar(1, x), size);
  return g.Div(g.grad(0), g.Mul(sum, sum));
}
// 1 where the hard sigmoid y of x rises, else 0.
ValueId Rises(GradientContext& g, ValueId y) {
  ValueId inside =
      g.Emit("And", {g.Emit("Greater", {y, g.Scalar(0, y)}), g.Emit("Less", {y, g.Scalar(1, y)})});
  return g.CastLike(inside, y);
}
ValueId HardSigmoidRule(GradientContext& g) {
  return g.Mul(g.Scale(g.grad(0), g.node().Float("alpha", 0.2)), Rises(g, g.output(0)));
}
ValueId HardSwishRule(GradientContext& g) {
  ValueId x = g.input(0);
  ValueId gate = g.Emit("HardSigmoid", {x}, {{"alpha", 1.0 / 6}, {"beta", 0.5}});
  return g.Mul(g.grad(0), g.Add(gate, g.Mul(g.Scale(x, 1.0 / 6), Rises(g, gate))));
}
// x tanh(softplus(x))
ValueId MishRule(GradientContext& g) {
  ValueId x = g.input(0);
  ValueId t = g.Emit("Tanh", {g.Emit("Softplus", {x})});
  ValueId of_softplus = g.Emit("Sigmoid", {x}), square = g.Mul(t, t);
  ValueId slope = g.Mul(g.Sub(g.Scalar(1, x), square), of_softplus);
  return g.Mul(g.grad(0), g.Add(t, g.Mul(x, slope)));
}
// The bounds themselves count as inside.
ValueId ClipRule(GradientContext& g) {
  return g.Mul(g.grad(0), g.CastLike(g.Emit("Equal", {g.input(0), g.output(0)}), g.grad(0)));
}

template <ValueId (*Rule)(GradientContext&)>
void Composed(GradientContext& g) {
  if (g.wants(0)) g.SetGrad(0, Rule(g));
}

void PReluGradient(GradientContext& g) {
  ValueId dy = g.grad(0);
  ValueId zero = g.Scalar(0, dy);
  if (g.wants(0)) g.SetGrad(0, Above(g, 0, dy, g.Mul(dy, g.input(1))));
  if (g.wants(1)) g.SetGrad(1, g.SumTo(Above(g, 0, zero, g.Mul(dy, g.input(0))), g.input(1)));
}

using Gradient = void (*)(GradientContext&);

// (dy, y) → dy where y > 0
void ReluGradGradient(GradientContext& g) {
  g.SetGrad(0, g.EmitGrad(kReluGrad, {g.grad(0), g.input(1)}));
}

// (dy, y) → dy (1 - y²)
void TanhGradGradient(GradientContext& g) {
  const ValueId y = g.input(1);
  if (g.wants(0)) g.SetGrad(0, g.EmitGrad(kTanhGrad, {g.grad(0), y}));
  if (g.wants(1)) g.SetGrad(1, g.Mul(g.grad(0), g.Scale(g.Mul(g.input(0), y), -2)));
}

// (dy, y) → dy y (1 - y)
void SigmoidGradGradient(GradientContext& g) {
  const ValueId y = g.input(1);
  if (g.wants(0)) g.SetGrad(0, g.EmitGrad(kSigmoidGrad, {g.grad(0), y}));
  if (!g.wants(1)) return;
  const ValueId twice = g.Scale(y, 2);
  const ValueId slope = g.Sub(g.Scalar(1, y), twice);
  g.SetGrad(1, g.Mul(g.grad(0), g.Mul(g.input(0), slope)));
}

constexpr OpDef OfGradient(Literal name, void (*gradient)(GradientContext&)) {
  return {
      .domain = kGrad, .name = name, .inputs = {2, 2}, .infer = InferGrad, .gradient = gradient};
}

constexpr OpDef Function(Literal name, int version, Gradient gradient,
                         std::span<const AttributeDef> attributes = {}) {
  return {.domain = kOnnx,
          .name = name,
          .since_version = version,
          .attributes = attributes,
          .infer = InferFloatingUnary,
          .gradient = gradient};
}

constexpr OpDef kActivationOps[] = {
    {.domain = kOnnx,
     .name = "Relu",
     .since_version = 6,
     .infer = InferNumericUnary,
     .gradient = FromOutput<kReluGrad>},
    Function("Tanh", 6, FromOutput<kTanhGrad>),
    Function("Sigmoid", 6, FromOutput<kSigmoidGrad>),
    // (dy, y) → dx
    OfGradient(kReluGrad, ReluGradGradient),
    OfGradient(kTanhGrad, TanhGradGradient),
    OfGradient(kSigmoidGrad, SigmoidGradGradient),
    Function("LeakyRelu", 6, Composed<LeakyReluRule>, kAlpha),
    Function("Elu", 6, Composed<EluRule>, kAlpha),
    Function("Selu", 6, Composed<SeluRule>, kAlphaGamma),
    Function("Celu", 12, Composed<CeluRule>, kAlpha),
    Function("ThresholdedRelu", 10, Composed<ThresholdedReluRule>, kAlpha),
    {.domain = kOnnx,
     .name = "Shrink",
     .since_version = 9,
     .attributes = kShrinkAttributes,
     .infer = InferNumericUnary,
     .compose = ComposeShrink},
    {.domain = kOnnx,
     .name = "Swish",
     .since_version = 24,
     .attributes = kAlpha,
     .infer = InferFloatingUnary,
     .compose = ComposeSwish},
    Function("Softplus", 1, Composed<SoftplusRule>),
    Function("Softsign", 1, Composed<SoftsignRule>),
    Function("HardSigmoid", 6, Composed<HardSigmoidRule>, kAlphaBeta),
    Function("HardSwish", 14, Composed<HardSwishRule>),
    Function("Mish", 18, Composed<MishRule>),
    {.domain = kOnnx,
     .name = "Gelu",
     .since_version = 20,
     .attributes = kApproximate,
     .infer = InferGelu,
     .gradient = GeluGradient},
    // (dy, x) → dx
    {.domain = kGrad,
     .name = kGeluGrad,
     .inputs = {2, 2},
     .attributes = kApproximate,
     .infer = InferGelu},
    // (x, slope), slope broadcast to x
    {.domain = kOnnx,
     .name = "PRelu",
     .since_version = 7,
     .inputs = {2, 2},
     .infer = InferPRelu,
     .gradient = PReluGradient},
    // (x, min []?, max []?)
    {.domain = kOnnx,
     .name = "Clip",
     .since_version = 11,
     .inputs = {1, 3},
     .infer = InferClip,
     .gradient = Composed<ClipRule>},
};

}  // namespace

OpFamily ActivationOps() { return Chosen<kActivationOps>(); }

}  // namespace hr::ops
