// Arithmetic with broadcasting.
#include "runtime/ops/builtin.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/infer.h"

namespace hr::ops {
namespace {

// Sets the gradient of a broadcast input.
void SetSummed(GradientContext& g, size_t i, ValueId grad) { g.SetGrad(i, g.SumTo(grad, g.input(i))); }

Status AddGradient(GradientContext& g) {
  if (g.wants(0)) SetSummed(g, 0, g.grad(0));
  if (g.wants(1)) SetSummed(g, 1, g.grad(0));
  return g.status();
}

Status SubGradient(GradientContext& g) {
  if (g.wants(0)) SetSummed(g, 0, g.grad(0));
  if (g.wants(1)) SetSummed(g, 1, g.Neg(g.grad(0)));
  return g.status();
}

Status MulGradient(GradientContext& g) {
  if (g.wants(0)) SetSummed(g, 0, g.Mul(g.grad(0), g.input(1)));
  if (g.wants(1)) SetSummed(g, 1, g.Mul(g.grad(0), g.input(0)));
  return g.status();
}

Status DivGradient(GradientContext& g) {
  ValueId share = g.Div(g.grad(0), g.input(1));
  if (g.wants(0)) SetSummed(g, 0, share);
  if (g.wants(1)) SetSummed(g, 1, g.Neg(g.Mul(share, g.output(0))));
  return g.status();
}

constexpr OpDef kOps[] = {
    {.domain = kOnnx, .name = "Add", .since_version = 7, .inputs = {2, 2},
     .infer = InferBroadcast, .gradient = AddGradient},
    {.domain = kOnnx, .name = "Sub", .since_version = 7, .inputs = {2, 2},
     .infer = InferBroadcast, .gradient = SubGradient},
    {.domain = kOnnx, .name = "Mul", .since_version = 7, .inputs = {2, 2},
     .infer = InferBroadcast, .gradient = MulGradient},
    {.domain = kOnnx, .name = "Div", .since_version = 7, .inputs = {2, 2},
     .infer = InferBroadcast, .gradient = DivGradient},
};

}  // namespace

std::span<const OpDef> ElementwiseOps() { return kOps; }

}  // namespace hr::ops
