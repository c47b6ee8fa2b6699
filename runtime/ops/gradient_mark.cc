// What a training step does to its gradients before the optimizer gets them (accumulation,
// clipping) comes after this mark, which rewrites for many processes look for: they put the
// gradients of all ranks in its place.
#include "runtime/ops/builtin.h"
#include "runtime/ops/compose.h"
#include "runtime/ops/infer.h"

namespace hr::ops {
namespace {

void ComposeMark(ComposeContext& c) { c.SetOutput(0, c.Emit("Identity", {c.input(0)})); }

constexpr OpDef kGradientMarkOps[] = {
    // (gradient) → the same
    {.domain = kTrain, .name = "Gradient", .infer = InferFloatingUnary, .compose = ComposeMark},
};

}  // namespace

OpFamily GradientMarkOps() { return Chosen<kGradientMarkOps>(); }

}  // namespace hr::ops
