// Determinants.
#include "runtime/ops/builtin.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

// Input `i` has square matrices on its last two axes.
Status CheckSquare(const InferContext& context, size_t i) {
  HR_RETURN_IF_ERROR(context.ExpectFloating(i));
  HR_RETURN_IF_ERROR(context.ExpectRankAtLeast(i, 2));
  const ValueType& x = context.input(i);
  if (!x.ranked) return {};
  const size_t rank = x.dims.size();
  return EqualDims(context, "the rows and columns", x.dims[rank - 2], x.dims[rank - 1]).status();
}

Status InferDet(InferContext& context) {
  HR_RETURN_IF_ERROR(CheckSquare(context, 0));
  ValueType type = context.input(0);
  if (type.ranked) type.dims.resize(type.dims.size() - 2);
  context.SetOutput(0, std::move(type));
  return {};
}

Status InferDetGrad(InferContext& context) {
  HR_RETURN_IF_ERROR(CheckSquare(context, 1));
  HR_RETURN_IF_ERROR(context.ExpectSameDType(0, 1));
  return InferLikeInput<1>(context);
}

void DetGradient(GradientContext& g) {
  g.SetGrad(0, g.EmitGrad("DetGrad", {g.grad(0), g.input(0)}));
}

constexpr OpDef kDeterminantOps[] = {
    // (x […, n, n]) → […]
    {.domain = kOnnx,
     .name = "Det",
     .since_version = 11,
     .infer = InferDet,
     .gradient = DetGradient},
    // (dy […], x) → dx: dy times the cofactors of x
    {.domain = kGrad, .name = "DetGrad", .inputs = {2, 2}, .infer = InferDetGrad},
};

}  // namespace

OpFamily DeterminantOps() { return Chosen<kDeterminantOps>(); }

}  // namespace hr::ops
