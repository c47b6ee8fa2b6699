// Variables: reading and writing them. Effects on one variable are ordered by control edges alone;
// a Read without one sees the value at the start of the step.
#include "runtime/ops/builtin.h"
#include "runtime/ops/infer.h"

namespace hr::ops {
namespace {

constexpr AttributeDef Variable(AttributeEffect effect) {
  return {"variable", AttributeKind::kInt, true, effect};
}
constexpr AttributeDef kRead[] = {Variable(Reads(ResourceKind::kVariable))};
constexpr AttributeDef kWritten[] = {Variable(Writes(ResourceKind::kVariable))};
constexpr AttributeDef kChanged[] = {Variable(Changes(ResourceKind::kVariable))};

Status InferRead(InferContext& context) {
  HR_ASSIGN_OR_RETURN(const graph::Variable* variable, context.VariableOf("variable"));
  context.SetOutput(0, ValueType::Tensor(variable->dtype, variable->dims));
  return {};
}

Status InferAssign(InferContext& context) {
  HR_ASSIGN_OR_RETURN(const graph::Variable* variable, context.VariableOf("variable"));
  ValueType wanted = ValueType::Tensor(variable->dtype, variable->dims);
  auto got = context.input(0).FixedDims();
  bool fits = context.input(0).dtype == wanted.dtype && (!got || *got == variable->dims);
  if (!fits) {
    return InvalidArgument(context.def().name, " to variable '", variable->name, "' takes ",
                           context.Text(wanted), ", got ", context.Text(context.input(0)));
  }
  return {};
}

constexpr OpDef kStateOps[] = {
    // () → value
    {.domain = kState, .name = "Read", .inputs = {0, 0}, .attributes = kRead, .infer = InferRead},
    // (value) → (): the variable becomes the value.
    {.domain = kState,
     .name = "Assign",
     .inputs = {1, 1},
     .outputs = {0, 0},
     .attributes = kWritten,
     .infer = InferAssign},
    // (value) → (): the value is added to the variable.
    {.domain = kState,
     .name = "AssignAdd",
     .inputs = {1, 1},
     .outputs = {0, 0},
     .attributes = kChanged,
     .infer = InferAssign},
};

}  // namespace

OpFamily StateOps() { return Chosen<kStateOps>(); }

}  // namespace hr::ops
