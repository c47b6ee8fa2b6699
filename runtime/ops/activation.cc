// Activations. The common ones have gradients of their own, written in terms of the output where
// that saves keeping the input.
#include "runtime/ops/builtin.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/infer.h"

namespace hr::ops {
namespace {

using Gradient = Status (*)(GradientContext&);

// A gradient operator (dy, y) → dx.
template <const char* Name>
Status FromOutput(GradientContext& g) {
  g.SetGrad(0, g.EmitGrad(Name, {g.grad(0), g.output(0)}));
  return g.status();
}

constexpr char kReluGrad[] = "ReluGrad";
constexpr char kTanhGrad[] = "TanhGrad";
constexpr char kSigmoidGrad[] = "SigmoidGrad";

Status InferGrad(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectSameDType(0, 1));
  return InferSameAsInput(context);
}

constexpr OpDef kOps[] = {
    {.domain = kOnnx, .name = "Relu", .since_version = 6, .infer = InferNumericUnary,
     .gradient = FromOutput<kReluGrad>},
    {.domain = kOnnx, .name = "Tanh", .since_version = 6, .infer = InferFloatingUnary,
     .gradient = FromOutput<kTanhGrad>},
    {.domain = kOnnx, .name = "Sigmoid", .since_version = 6, .infer = InferFloatingUnary,
     .gradient = FromOutput<kSigmoidGrad>},
    // (dy, y) → dx
    {.domain = kGrad, .name = kReluGrad, .inputs = {2, 2}, .infer = InferGrad},
    {.domain = kGrad, .name = kTanhGrad, .inputs = {2, 2}, .infer = InferGrad},
    {.domain = kGrad, .name = kSigmoidGrad, .inputs = {2, 2}, .infer = InferGrad},
};

}  // namespace

std::span<const OpDef> ActivationOps() { return kOps; }

}  // namespace hr::ops
