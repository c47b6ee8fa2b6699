// Mathematical functions of one number.
#include "runtime/ops/builtin.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/infer.h"

namespace hr::ops {
namespace {

Status NegGradient(GradientContext& g) {
  g.SetGrad(0, g.Neg(g.grad(0)));
  return g.status();
}

constexpr OpDef kOps[] = {
    {.domain = kOnnx, .name = "Neg", .since_version = 6, .infer = InferNumericUnary,
     .gradient = NegGradient},
};

}  // namespace

std::span<const OpDef> UnaryOps() { return kOps; }

}  // namespace hr::ops
