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
  const int slices = request.threads;
  LoweredKernel out;
  out.kernel = MakeKernel(
      "assign", [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
        context.threads.ParallelFor(slices, [&](int slice) {
          const Range part = PartOf(bytes, slices, slice);
          std::memmove(p.variable<char>(0) + part.begin, p.input<char>(0) + part.begin,
                       part.size());
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
  const int slices = request.threads;
  LoweredKernel out;
  out.kernel = MakeKernel(
      "assign_add",
      [program = std::move(program), layout = std::move(layout), slices](
          const engine::Operands& p, const engine::LaunchContext& context) -> Status {
        void* variable = p.variable(0);
        const void* in[] = {variable, p.input(0)};
        RunElementProgram(context.threads, program, layout, in, std::span(&variable, 1), slices);
        return {};
      });
  return out;
}

constexpr KernelEntry kStateKernels[] = {
    {"headrace.state", "Assign", MakeAssign},
    {"headrace.state", "AssignAdd", MakeAssignAdd},
};

}  // namespace

KernelPart StateFamily() { return ChosenKernels<kStateKernels>(); }

}  // namespace hr::cpu
