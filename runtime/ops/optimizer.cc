// Optimizer steps: one node updates one variable and the state that belongs to it.
#include "runtime/ops/builtin.h"
#include "runtime/ops/infer.h"

namespace hr::ops {
namespace {

// A variable that the step changes.
constexpr AttributeDef Changed(Literal name, bool required = true) {
  return {name, AttributeKind::kInt, required, Changes(ResourceKind::kVariable)};
}
constexpr AttributeDef Number(Literal name) { return {name, AttributeKind::kFloat}; }
constexpr AttributeDef Flag(Literal name) { return {name, AttributeKind::kInt}; }

constexpr AttributeDef kSgdAttributes[] = {
    Changed("variable"),    Changed("momentum_variable", false),
    Number("momentum"),     Number("dampening"),
    Number("weight_decay"), Flag("nesterov"),
};
constexpr AttributeDef kAdamAttributes[] = {
    Changed("variable"),      Changed("m_variable"),  Changed("v_variable"),
    Changed("step_variable"), Number("beta1"),        Number("beta2"),
    Number("epsilon"),        Number("weight_decay"), Flag("decoupled"),
};
constexpr AttributeDef kAdaGradAttributes[] = {
    Changed("variable"),
    Changed("sum_variable"),
    Number("epsilon"),
    Number("weight_decay"),
};
constexpr AttributeDef kRmsPropAttributes[] = {
    Changed("variable"),    Changed("square_variable"), Changed("momentum_variable", false),
    Number("alpha"),        Number("momentum"),         Number("epsilon"),
    Number("weight_decay"),
};

// Variable `attribute` has the type of the parameter.
Status CheckState(const InferContext& context, Literal attribute,
                  const graph::Variable& parameter) {
  if (context.node().Find(attribute) == nullptr) return {};
  HR_ASSIGN_OR_RETURN(const graph::Variable* state, context.VariableOf(attribute));
  if (state->dtype == parameter.dtype && state->dims == parameter.dims) return {};
  return InvalidArgument(context.def().name, "'s variable '", state->name, "' wants the type of '",
                         parameter.name, "', ", DTypeName(parameter.dtype), parameter.dims,
                         ", got ", DTypeName(state->dtype), state->dims);
}

// Checks learning rate, gradient and the variables that have the parameter's type.
Status InferStep(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectFloating(0));
  HR_RETURN_IF_ERROR(context.ExpectRank(0, 0));
  HR_RETURN_IF_ERROR(context.ExpectFloating(1));
  HR_ASSIGN_OR_RETURN(const graph::Variable* parameter, context.VariableOf("variable"));
  auto dims = context.input(1).FixedDims();
  if (context.input(1).dtype != parameter->dtype || (dims && *dims != parameter->dims)) {
    return InvalidArgument(context.def().name, " of variable '", parameter->name,
                           "' takes a gradient of type ", DTypeName(parameter->dtype),
                           parameter->dims, ", got ", context.Text(context.input(1)));
  }
  for (const AttributeDef& attribute : context.def().attributes) {
    if (!attribute.effect.writes || attribute.name == "step_variable") continue;
    HR_RETURN_IF_ERROR(CheckState(context, attribute.name, *parameter));
  }
  return {};
}

// Momentum needs its buffer.
Status InferMomentumStep(InferContext& context) {
  if (context.node().Float("momentum", 0) != 0 &&
      context.node().Find("momentum_variable") == nullptr) {
    return InvalidArgument(context.def().name,
                           " with momentum needs its attribute 'momentum_variable'");
  }
  return InferStep(context);
}

Status InferAdam(InferContext& context) {
  HR_ASSIGN_OR_RETURN(const graph::Variable* step, context.VariableOf("step_variable"));
  if (step->dtype != DType::kInt64 || !step->dims.empty()) {
    return InvalidArgument("Adam's variable '", step->name, "' wants int64[], got ",
                           DTypeName(step->dtype), step->dims);
  }
  return InferStep(context);
}

// (learning_rate [], gradient) → (). docs/operators.md has the formulas.
constexpr OpDef kOps[] = {
    {.domain = kTrain,
     .name = "SGD",
     .inputs = {2, 2},
     .outputs = {0, 0},
     .attributes = kSgdAttributes,
     .infer = InferMomentumStep},
    {.domain = kTrain,
     .name = "Adam",
     .inputs = {2, 2},
     .outputs = {0, 0},
     .attributes = kAdamAttributes,
     .infer = InferAdam},
    {.domain = kTrain,
     .name = "AdaGrad",
     .inputs = {2, 2},
     .outputs = {0, 0},
     .attributes = kAdaGradAttributes,
     .infer = InferStep},
    {.domain = kTrain,
     .name = "RMSProp",
     .inputs = {2, 2},
     .outputs = {0, 0},
     .attributes = kRmsPropAttributes,
     .infer = InferMomentumStep},
};

}  // namespace

std::span<const OpDef> OptimizerOps() { return kOps; }

}  // namespace hr::ops
