// What gradient functions of custom operators call.
#include <algorithm>

#include "capi/src/operator.h"

namespace hr::capi {
namespace {

Status AddNode(hr_op* op, const char* name, const char* attributes,
               std::span<const hr_value> inputs, std::span<hr_value> outputs) {
  HR_ASSIGN_OR_RETURN(auto&& spec, SpecFor(*op->operators, name, attributes));
  for (hr_value input : inputs) {
    if (input != HR_NONE && !op->gradient->Has(input)) {
      return InvalidArgument("there is no value ", input);
    }
  }
  auto values = op->gradient->EmitMany(spec.domain, spec.op, inputs, outputs.size(),
                                       std::move(spec.attributes));
  std::copy(values.begin(), values.end(), outputs.begin());
  return op->gradient->failure().Clone();
}

// False if the types certainly differ.
bool MayBeEqual(const graph::ValueType& a, const graph::ValueType& b) {
  if (a.dtype != b.dtype) return false;
  if (!a.ranked || !b.ranked) return true;
  return std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(),
                    [](const graph::Dim& x, const graph::Dim& y) {
                      return !x.fixed() || !y.fixed() || x.size == y.size;
                    });
}

Status SetGradient(ops::GradientContext& context, size_t input, hr_value gradient) {
  if (gradient != HR_NONE && !context.Has(gradient)) {
    return InvalidArgument("there is no value ", gradient);
  }
  if (input >= context.input_count()) {
    return InvalidArgument("there is no input ", input, "; the node has ", context.input_count());
  }
  if (gradient != HR_NONE && context.input(input) != graph::kNone) {
    const graph::ValueType& wanted = context.type(context.input(input));
    const graph::ValueType& given = context.type(gradient);
    if (!MayBeEqual(wanted, given)) {
      return InvalidArgument("the gradient of input ", input, " must be ", context.Text(wanted),
                             ", got ", context.Text(given));
    }
  }
  context.SetGrad(input, gradient);
  return {};
}

}  // namespace
}  // namespace hr::capi

using hr::capi::NotAllowed;
using hr::capi::Wrap;

extern "C" {

hr_value hr_op_input(const hr_op* op, size_t input) {
  return op == nullptr || op->gradient == nullptr ? HR_NONE : op->gradient->input(input);
}
hr_value hr_op_output(const hr_op* op, size_t output) {
  return op == nullptr || op->gradient == nullptr ? HR_NONE : op->gradient->output(output);
}
hr_value hr_op_output_gradient(const hr_op* op, size_t output) {
  return op == nullptr || op->gradient == nullptr ? HR_NONE : op->gradient->grad(output);
}
int hr_op_wants_gradient(const hr_op* op, size_t input) {
  return op != nullptr && op->gradient != nullptr && op->gradient->wants(input) ? 1 : 0;
}

hr_status* hr_op_add(hr_op* op, const char* name, const char* attributes, size_t input_count,
                     const hr_value* inputs, size_t output_count, hr_value* outputs) {
  HR_REQUIRE(op);
  HR_REQUIRE(name);
  if (input_count != 0) HR_REQUIRE(inputs);
  if (output_count != 0) HR_REQUIRE(outputs);
  if (op->gradient == nullptr) return NotAllowed(__func__, "gradient");
  return Wrap(
      hr::capi::AddNode(op, name, attributes, {inputs, input_count}, {outputs, output_count}));
}

hr_status* hr_op_scalar(hr_op* op, double value, hr_value like, hr_value* out) {
  HR_REQUIRE(op);
  HR_REQUIRE(out);
  if (op->gradient == nullptr) return NotAllowed(__func__, "gradient");
  if (!op->gradient->Has(like)) return Wrap(hr::InvalidArgument("there is no value ", like));
  *out = op->gradient->Scalar(value, like);
  return Wrap(op->gradient->failure().Clone());
}

hr_status* hr_op_set_gradient(hr_op* op, size_t input, hr_value gradient) {
  HR_REQUIRE(op);
  if (op->gradient == nullptr) return NotAllowed(__func__, "gradient");
  return Wrap(hr::capi::SetGradient(*op->gradient, input, gradient));
}

}  // extern "C"
