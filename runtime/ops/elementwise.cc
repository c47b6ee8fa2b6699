// Element-wise operators with broadcasting.
#include "runtime/ops/builtin.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/infer.h"

namespace hr::ops {
namespace {

Status AddGradient(GradientContext& g) {
  g.SetGrad(0, g.SumTo(g.grad(0), g.input(0)));
  g.SetGrad(1, g.SumTo(g.grad(0), g.input(1)));
  return g.status();
}

Status MulGradient(GradientContext& g) {
  if (g.wants(0)) g.SetGrad(0, g.SumTo(g.Emit("Mul", {g.grad(0), g.input(1)}), g.input(0)));
  if (g.wants(1)) g.SetGrad(1, g.SumTo(g.Emit("Mul", {g.grad(0), g.input(0)}), g.input(1)));
  return g.status();
}

Status ReluGradient(GradientContext& g) {
  g.SetGrad(0, g.EmitIn(kGrad, "ReluGrad", {g.grad(0), g.output(0)}));
  return g.status();
}

constexpr OpDef kOps[] = {
    {.domain = kOnnx, .name = "Add", .since_version = 7, .inputs = {2, 2},
     .infer = InferBroadcastBinary, .gradient = AddGradient},
    {.domain = kOnnx, .name = "Mul", .since_version = 7, .inputs = {2, 2},
     .infer = InferBroadcastBinary, .gradient = MulGradient},
    {.domain = kOnnx, .name = "Relu", .since_version = 6, .infer = InferFloatingUnary,
     .gradient = ReluGradient},
    {.domain = kGrad, .name = "ReluGrad", .inputs = {2, 2}, .infer = InferSameAsInput},
};

}  // namespace

std::span<const OpDef> ElementwiseOps() { return kOps; }

}  // namespace hr::ops
