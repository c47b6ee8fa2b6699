// Writes of variables (headrace.state).
#include <cstring>

#include "backends/cpu/kernels/elementwise.h"
#include "backends/cpu/kernels/partition.h"
#include "backends/cpu/ops/families.h"

namespace hr::cpu {
namespace {

// (value) → (): the variable becomes the value.
Result<LoweredKernel> MakeAssign(const KernelRequest& request) {
  const auto bytes =
      static_cast<int64_t>(DTypeSize(request.input(0).dtype)) * request.input(0).elements();
  const size_t variable = request.variable_index(0);
  const int slices = request.threads;
  LoweredKernel out;
  out.kernel = MakeKernel("assign", [=](void* const* p, const RunContext& context) -> Status {
    context.threads.ParallelFor(slices, [&](int slice) {
      const Range part = PartOf(bytes, slices, slice);
      std::memmove(static_cast<char*>(p[variable]) + part.begin,
                   static_cast<const char*>(p[0]) + part.begin, part.size());
    });
    return {};
  });
  return out;
}

// (value) → (): the value is added to the variable.
Result<LoweredKernel> MakeAssignAdd(const KernelRequest& request) {
  const DType dtype = request.input(0).dtype;
  const Dims& dims = request.input(0).dims;
  ElementProgramBuilder builder(dtype);
  const int held = builder.Input(dtype), value = builder.Input(dtype);
  builder.Output(builder.Apply(ElementOp::kAdd, {held, value}), dtype);
  HR_ASSIGN_OR_RETURN(ElementProgram program, builder.Build());
  const std::span<const int64_t> both[] = {dims, dims};
  HR_ASSIGN_OR_RETURN(ElementLayout layout, ElementLayout::Make(dims, both));
  const size_t variable = request.variable_index(0);
  const int slices = request.threads;
  LoweredKernel out;
  out.kernel = MakeKernel("assign_add",
                          [program = std::move(program), layout = std::move(layout), variable,
                           slices](void* const* p, const RunContext& context) -> Status {
                            const void* in[] = {p[variable], p[0]};
                            RunElementProgram(context.threads, program, layout, in,
                                              std::span(&p[variable], 1), slices);
                            return {};
                          });
  return out;
}

constexpr KernelEntry kKernels[] = {
    {"headrace.state", "Assign", MakeAssign},
    {"headrace.state", "AssignAdd", MakeAssignAdd},
};

}  // namespace

std::span<const KernelEntry> StateKernels() { return kKernels; }

}  // namespace hr::cpu
