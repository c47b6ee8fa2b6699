#include "runtime/ops/infer_gradient.h"

namespace hr::ops {

Status ExpectType(const InferContext& context, size_t i, const ValueType& expected) {
  const ValueType& type = context.input(i);
  bool fits = type.dtype == expected.dtype;
  if (type.ranked && expected.ranked) {
    fits = fits && type.rank() == expected.rank();
    for (size_t axis = 0; fits && axis < type.dims.size(); ++axis) {
      const Dim a = type.dims[axis], b = expected.dims[axis];
      fits = !a.fixed() || !b.fixed() || a.size == b.size;
    }
  }
  if (fits) return {};
  return InvalidArgument(context.def().name, " takes ", context.Text(expected), " as input ", i,
                         ", got ", context.Text(type));
}

Status InferGradientOf(InferContext& context, const OpDef& forward,
                       std::initializer_list<size_t> inputs, size_t like) {
  std::vector<const ValueType*> types;
  std::vector<const Tensor*> constants;
  for (const size_t i : inputs) {
    const bool given = i != kOmitted && context.has_input(i);
    types.push_back(given ? &context.input(i) : nullptr);
    constants.push_back(given ? context.constant(i) : nullptr);
  }
  ValueType output;
  InferContext again(forward, context.module(), context.node(), types, constants, {&output, 1});
  Status status = forward.infer(again);
  if (!status.ok()) return std::move(status).WithContext(context.def().name);
  HR_RETURN_IF_ERROR(ExpectType(context, 0, output));
  context.SetOutput(0, context.input(like));
  return {};
}

}  // namespace hr::ops
