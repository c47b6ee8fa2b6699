// Optimizer steps: one node updates one variable and the state that belongs to it.
#include "runtime/ops/builtin.h"
#include "runtime/ops/infer.h"

namespace hr::ops {
namespace {

constexpr std::string_view kSgdVariables[] = {"variable", "momentum_variable"};
constexpr AttributeDef kSgdAttributes[] = {
    {"variable", AttributeKind::kInt, true}, {"momentum_variable", AttributeKind::kInt},
    {"momentum", AttributeKind::kFloat},     {"dampening", AttributeKind::kFloat},
    {"weight_decay", AttributeKind::kFloat}, {"nesterov", AttributeKind::kInt},
};
constexpr std::string_view kAdamVariables[] = {"variable", "m_variable", "v_variable",
                                               "step_variable"};
constexpr AttributeDef kAdamAttributes[] = {
    {"variable", AttributeKind::kInt, true},   {"m_variable", AttributeKind::kInt, true},
    {"v_variable", AttributeKind::kInt, true}, {"step_variable", AttributeKind::kInt, true},
    {"beta1", AttributeKind::kFloat},          {"beta2", AttributeKind::kFloat},
    {"epsilon", AttributeKind::kFloat},        {"weight_decay", AttributeKind::kFloat},
    {"decoupled", AttributeKind::kInt},
};
constexpr std::string_view kAdaGradVariables[] = {"variable", "sum_variable"};
constexpr AttributeDef kAdaGradAttributes[] = {
    {"variable", AttributeKind::kInt, true},
    {"sum_variable", AttributeKind::kInt, true},
    {"epsilon", AttributeKind::kFloat},
    {"weight_decay", AttributeKind::kFloat},
};
constexpr std::string_view kRmsPropVariables[] = {"variable", "square_variable",
                                                  "momentum_variable"};
constexpr AttributeDef kRmsPropAttributes[] = {
    {"variable", AttributeKind::kInt, true},    {"square_variable", AttributeKind::kInt, true},
    {"momentum_variable", AttributeKind::kInt}, {"alpha", AttributeKind::kFloat},
    {"momentum", AttributeKind::kFloat},        {"epsilon", AttributeKind::kFloat},
    {"weight_decay", AttributeKind::kFloat},
};

// Variable `attribute` has the type of the parameter.
Status CheckState(const InferContext& context, std::string_view attribute,
                  const graph::Variable& parameter) {
  if (context.node().Find(attribute) == nullptr) return {};
  HR_ASSIGN_OR_RETURN(const graph::Variable* state, context.VariableOf(attribute));
  if (state->dtype == parameter.dtype && state->dims == parameter.dims) return {};
  return InvalidArgument(context.def().name, "'s variable '", state->name, "' wants the type of '",
                         parameter.name, "', ", DTypeName(parameter.dtype),
                         ShapeText(parameter.dims), ", got ", DTypeName(state->dtype),
                         ShapeText(state->dims));
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
                           ShapeText(parameter->dims), ", got ", context.Text(context.input(1)));
  }
  for (std::string_view attribute : context.def().writes) {
    if (attribute == "step_variable") continue;
    HR_RETURN_IF_ERROR(CheckState(context, attribute, *parameter));
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
                           DTypeName(step->dtype), ShapeText(step->dims));
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
     .infer = InferMomentumStep,
     .reads = kSgdVariables,
     .writes = kSgdVariables},
    {.domain = kTrain,
     .name = "Adam",
     .inputs = {2, 2},
     .outputs = {0, 0},
     .attributes = kAdamAttributes,
     .infer = InferAdam,
     .reads = kAdamVariables,
     .writes = kAdamVariables},
    {.domain = kTrain,
     .name = "AdaGrad",
     .inputs = {2, 2},
     .outputs = {0, 0},
     .attributes = kAdaGradAttributes,
     .infer = InferStep,
     .reads = kAdaGradVariables,
     .writes = kAdaGradVariables},
    {.domain = kTrain,
     .name = "RMSProp",
     .inputs = {2, 2},
     .outputs = {0, 0},
     .attributes = kRmsPropAttributes,
     .infer = InferMomentumStep,
     .reads = kRmsPropVariables,
     .writes = kRmsPropVariables},
};

}  // namespace

std::span<const OpDef> OptimizerOps() { return kOps; }

}  // namespace hr::ops
