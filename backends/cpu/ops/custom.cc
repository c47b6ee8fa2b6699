#include "backends/cpu/ops/custom.h"

#include <algorithm>

namespace hr::cpu {
namespace {

using ops::CustomTensor;

// What does not change from run to run: all but the memory.
struct Prepared {
  explicit Prepared(const KernelRequest& request)
      : node(request.node), inputs(request.inputs), outputs(request.outputs) {
    for (const auto* operands : {&inputs, &outputs}) {
      for (const OperandInfo& info : *operands) {
        tensors.push_back({info.dtype, info.dims.size(), info.dims.data(), nullptr});
      }
    }
  }
  Prepared(const Prepared&) = delete;

  const graph::Node node;
  const std::vector<OperandInfo> inputs, outputs;  // the tensors refer to their dimensions
  std::vector<CustomTensor> tensors;
};

}  // namespace

Result<LoweredKernel> MakeCustom(const KernelRequest& request, const ops::CustomOp& op) {
  LoweredKernel out;
  auto prepared = std::make_unique<const Prepared>(request);
  out.scratch_bytes = prepared->tensors.size() * sizeof(CustomTensor);
  out.kernel = MakeKernel(
      Cat("custom ", op.domain, ".", op.name),
      [&op, prepared = std::move(prepared)](const engine::Operands& p,
                                            const engine::LaunchContext& context) -> Status {
        const auto& tensors = prepared->tensors;
        auto* now = p.scratch<CustomTensor>();
        std::copy(tensors.begin(), tensors.end(), now);
        const size_t inputs = prepared->inputs.size();
        for (size_t i = 0; i < tensors.size(); ++i) {
          now[i].data = i < inputs ? const_cast<void*>(p.input(i)) : p.output(i - inputs);
        }
        return op.Compute(prepared->node, now, now + inputs, context.threads);
      });
  return out;
}

}  // namespace hr::cpu
