// Comparisons and logic with broadcasting, and Where.
#include "runtime/ops/builtin.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/infer.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kIsInfAttributes[] = {{"detect_negative", AttributeKind::kFlag},
                                             {"detect_positive", AttributeKind::kFlag}};

Status InferEqual(InferContext& context) {
  HR_ASSIGN_OR_RETURN(auto&& out, BroadcastInputs(context));
  out.dtype = DType::kBool;
  context.SetOutput(0, std::move(out));
  return {};
}

Status InferCompare(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectNumeric(0));
  return InferEqual(context);
}

Status InferLogic(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectDType(0, {DType::kBool}));
  return InferEqual(context);
}

Status InferTest(InferContext& context) {
  if (!IsFloat8(context.input(0).dtype)) HR_RETURN_IF_ERROR(context.ExpectFloating(0));
  return InferEqual(context);
}

Status InferWhere(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectDType(0, {DType::kBool}));
  HR_RETURN_IF_ERROR(context.ExpectSameDType(1, 2));
  ValueType out = context.input(1);
  HR_RETURN_IF_ERROR(BroadcastInto(context, context.input(0), out));
  HR_RETURN_IF_ERROR(BroadcastInto(context, context.input(2), out));
  context.SetOutput(0, std::move(out));
  return {};
}

void WhereGradient(GradientContext& g) {
  ValueId zero = g.Scalar(0, g.grad(0));
  if (g.wants(1)) {
    g.SetGrad(1, g.SumTo(g.Emit("Where", {g.input(0), g.grad(0), zero}), g.input(1)));
  }
  if (g.wants(2)) {
    g.SetGrad(2, g.SumTo(g.Emit("Where", {g.input(0), zero, g.grad(0)}), g.input(2)));
  }
}

constexpr OpDef Binary(Literal name, int version, Status (*infer)(InferContext&)) {
  return {
      .domain = kOnnx, .name = name, .since_version = version, .inputs = {2, 2}, .infer = infer};
}

constexpr OpDef kLogicOps[] = {
    Binary("Equal", 7, InferEqual),
    Binary("Greater", 7, InferCompare),
    Binary("Less", 7, InferCompare),
    Binary("GreaterOrEqual", 12, InferCompare),
    Binary("LessOrEqual", 12, InferCompare),
    Binary("And", 7, InferLogic),
    Binary("Or", 7, InferLogic),
    Binary("Xor", 7, InferLogic),
    {.domain = kOnnx, .name = "Not", .infer = InferLogic},
    {.domain = kOnnx, .name = "IsNaN", .since_version = 9, .infer = InferTest},
    {.domain = kOnnx,
     .name = "IsInf",
     .since_version = 10,
     .attributes = kIsInfAttributes,
     .infer = InferTest},
    // (condition, x, y) → x where the condition holds, else y
    {.domain = kOnnx,
     .name = "Where",
     .since_version = 9,
     .inputs = {3, 3},
     .infer = InferWhere,
     .gradient = WhereGradient},
};

}  // namespace

OpFamily LogicOps() { return Chosen<kLogicOps>(); }

}  // namespace hr::ops
