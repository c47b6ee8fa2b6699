// Running sums and products along an axis, and triangles of matrices.
#include "runtime/ops/builtin.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kRunningAttributes[] = {{"exclusive", AttributeKind::kFlag},
                                               {"reverse", AttributeKind::kFlag}};
constexpr AttributeDef kUpper[] = {{"upper", AttributeKind::kFlag}};

Status InferRunning(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectNumeric(0));
  HR_RETURN_IF_ERROR(context.ExpectIndices(1));
  auto axis = context.ConstantInts(1);
  if (axis && axis->size() == 1 && context.input(0).ranked) {
    HR_RETURN_IF_ERROR(ResolveAxis(context, (*axis)[0], context.input(0).rank()).status());
  }
  return InferSameAsInput(context);
}

void CumSumGradient(GradientContext& g) {
  int64_t exclusive = g.node().Int("exclusive", 0);
  int64_t reverse = g.node().Int("reverse", 0);
  g.SetGrad(0, g.Emit("CumSum", {g.grad(0), g.input(1)},
                      {{"exclusive", exclusive}, {"reverse", int64_t{reverse == 0}}}));
}

// The derivative of a running product needs no division, so zeros are no special case: see
// CumProdGradient in backends/cpu/kernels/scan.h.
void CumProdGradientRule(GradientContext& g) {
  g.SetGrad(0, g.EmitGradAlike("CumProdGrad", {g.grad(0), g.input(0), g.input(1)}));
}

Status InferCumProdGrad(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectFloating(0));
  HR_RETURN_IF_ERROR(context.ExpectSameDType(0, 1));
  HR_RETURN_IF_ERROR(context.ExpectIndices(2));
  return InferLikeInput<1>(context);
}

Status InferTrilu(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectRankAtLeast(0, 2));
  HR_RETURN_IF_ERROR(context.ExpectDType(1, {DType::kInt64}));
  return InferSameAsInput(context);
}

void TriluGradient(GradientContext& g) {
  int64_t upper = g.node().Int("upper", 1);
  g.SetGrad(0, g.Emit("Trilu", {g.grad(0), g.input(1)}, {{"upper", upper}}));
}

constexpr OpDef kScanOps[] = {
    // (x, axis [])
    {.domain = kOnnx,
     .name = "CumSum",
     .since_version = 11,
     .inputs = {2, 2},
     .attributes = kRunningAttributes,
     .infer = InferRunning,
     .gradient = CumSumGradient},
    {.domain = kOnnx,
     .name = "CumProd",
     .since_version = 26,
     .inputs = {2, 2},
     .attributes = kRunningAttributes,
     .infer = InferRunning,
     .gradient = CumProdGradientRule},
    // (dy, x, axis []) → dx
    {.domain = kGrad,
     .name = "CumProdGrad",
     .inputs = {3, 3},
     .attributes = kRunningAttributes,
     .infer = InferCumProdGrad},
    // (x, diagonal []?)
    {.domain = kOnnx,
     .name = "Trilu",
     .since_version = 14,
     .inputs = {1, 2},
     .attributes = kUpper,
     .infer = InferTrilu,
     .gradient = TriluGradient},
};

}  // namespace

OpFamily ScanOps() { return Chosen<kScanOps>(); }

}  // namespace hr::ops
