// Making a tensor larger by repetition, and the sum that undoes it.
#include "runtime/ops/builtin.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

Status InferExpand(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectInts(1));
  ValueType out = context.input(0);
  auto dims = DimsFromShapeInput(context, 1);
  if (!out.ranked || !dims) {
    context.SetUnranked(0, out.dtype);
    return {};
  }
  ValueType target{.dtype = out.dtype, .ranked = true, .dims = std::move(*dims)};
  HR_ASSIGN_OR_RETURN(out.dims, BroadcastTypes(context, out, target));
  context.SetOutput(0, std::move(out));
  return {};
}

Status InferSumTo(InferContext& context) {
  HR_RETURN_IF_ERROR(CheckBroadcasts(context, context.input(1), context.input(0)));
  return InferLikeInput<1>(context);
}

Status InferExpandLike(InferContext& context) {
  HR_RETURN_IF_ERROR(CheckBroadcasts(context, context.input(0), context.input(1)));
  return InferLikeInput<1>(context);
}

void SumBack(GradientContext& g) { g.SetGrad(0, g.SumTo(g.grad(0), g.input(0))); }

void SumToGradient(GradientContext& g) {
  g.SetGrad(0, g.EmitGrad("ExpandLike", {g.grad(0), g.input(0)}));
}

constexpr OpDef kBroadcastOps[] = {
    // (x, shape) → x broadcast with that shape
    {.domain = kOnnx,
     .name = "Expand",
     .since_version = 8,
     .inputs = {2, 2},
     .infer = InferExpand,
     .gradient = SumBack},
    // (x, like) → x broadcast to the shape of like, of which only the type is used
    {.domain = kGrad,
     .name = "ExpandLike",
     .inputs = {2, 2},
     .type_only_inputs = 1u << 1,
     .infer = InferExpandLike,
     .gradient = SumBack},
    // (x, like) → x summed over the axes along which like would be broadcast to it
    {.domain = kGrad,
     .name = "SumTo",
     .inputs = {2, 2},
     .type_only_inputs = 1u << 1,
     .infer = InferSumTo,
     .gradient = SumToGradient},
};

}  // namespace

OpFamily BroadcastOps() { return Chosen<kBroadcastOps>(); }

}  // namespace hr::ops
