#include "runtime/transform/run_counter.h"

#include "runtime/base/errors.h"
#include "runtime/transform/formula.h"

namespace hr::transform {

Result<uint32_t> RunCounter(GraphBuilder& builder, std::string_view signature) {
  const std::string name = Cat(signature, "/step");
  const uint32_t known = builder.module().FindVariable(name);
  if (known != kNone) {
    const graph::Variable& variable = builder.module().variables[known];
    if (variable.dtype == DType::kInt64 && variable.dims.empty()) return known;
    return AlreadyExists("the runs of signature '", signature, "' are counted in '", name,
                         "', and a variable of that name is ", DTypeName(variable.dtype),
                         variable.dims);
  }
  Formula f(builder, name);
  const uint32_t counter = f.Zeros(name, DType::kInt64, {});
  const NodeId counted = f.Assign(counter, f.Add(f.AtStart(counter), f.Integer(1)));
  HR_RETURN_IF_ERROR(f.status());
  builder.SignatureNamed(signature).targets.push_back(counted);
  return counter;
}

}  // namespace hr::transform
