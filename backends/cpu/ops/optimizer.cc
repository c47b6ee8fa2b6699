// Optimizer steps, of one variable (headrace.train) and of many (cpu).
#include "backends/cpu/kernels/optimizer.h"

#include <array>

#include "backends/cpu/ops/families.h"
#include "runtime/ops/optimizer.h"

namespace hr::cpu {
namespace {

using functors::OptimizerSteps;
using functors::StepList;

// The learning rate is a scalar of its own floating type.
double LearningRate(const void* data, DType dtype) {
  return dtype == DType::kFloat64 ? *static_cast<const double*>(data)
                                  : static_cast<double>(*static_cast<const float*>(data));
}

// The inputs are the learning rate, then a gradient for each step. The variables are, for each
// step, the parameter and then its state.
struct Updates {
  const ops::OptimizerDef* def;
  size_t steps;
  DType rate;
  std::vector<int64_t> counts;
  std::vector<bool> needed;  // by state

  size_t width() const { return 1 + def->state.size(); }
};

template <typename T>
OptimizerTensor<T> TensorOf(const Updates& updates, const engine::Operands& p, size_t i) {
  const size_t first = i * updates.width();
  OptimizerTensor<T> out{
      .parameter = p.variable<T>(first), .gradient = p.input<T>(1 + i), .count = updates.counts[i]};
  size_t arrays = 0;
  for (size_t s = 0; s < updates.needed.size(); ++s) {
    if (updates.def->state[s].counter) {
      out.counter = p.variable<int64_t>(first + 1 + s);
    } else {
      out.state[arrays++] = updates.needed[s] ? p.variable<T>(first + 1 + s) : nullptr;
    }
  }
  return out;
}

Updates UpdatesOf(const KernelRequest& request, const ops::OptimizerDef& def,
                  std::span<const double> settings) {
  Updates out{.def = &def, .steps = request.inputs.size() - 1, .rate = request.input(0).dtype};
  for (size_t i = 0; i < out.steps; ++i)
    out.counts.push_back(request.variables[i * out.width()].elements());
  for (const ops::OptimizerState& state : def.state)
    out.needed.push_back(ops::Needs(def, state, settings));
  return out;
}

template <typename T>
LoweredKernel MakeUpdate(const KernelRequest& request) {
  const ops::OptimizerDef& def = *ops::FindOptimizerOfOp(request.op.name);
  OptimizerUpdate update{.step = OptimizerStep(request.op.name),
                         .settings = ops::SettingsOf(def, request.node)};
  Updates updates = UpdatesOf(request, def, update.settings);
  LoweredKernel out;
  out.scratch_bytes = updates.steps * sizeof(OptimizerTensor<T>);
  std::string description =
      Cat(request.op.name, " of ", updates.steps, updates.steps == 1 ? " variable" : " variables");
  out.kernel = MakeKernel(
      std::move(description),
      [updates = std::move(updates), update = std::move(update), slices = request.threads](
          const engine::Operands& p, const engine::LaunchContext& context) {
        auto* tensors = p.scratch<OptimizerTensor<T>>();
        for (size_t i = 0; i < updates.steps; ++i) tensors[i] = TensorOf<T>(updates, p, i);
        UpdateParameters<T>(context.threads, {tensors, updates.steps}, update,
                            LearningRate(p.input(0), updates.rate), slices);
        return Status();
      });
  return out;
}

Result<LoweredKernel> Make(const KernelRequest& request) {
  DType rate = request.input(0).dtype;
  if (rate != DType::kFloat32 && rate != DType::kFloat64) {
    return Unimplemented(request.op.name, " takes a learning rate of float32 or float64 here, got ",
                         DTypeName(rate));
  }
  return ForFloating(request, request.input(1).dtype,
                     [&]<typename T>() -> Result<LoweredKernel> { return MakeUpdate<T>(request); });
}

template <template <class> class... Steps>
constexpr auto EntriesOf(StepList<Steps...>) {
  return std::array{KernelEntry{"headrace.train", Steps<float>::kOperator, Make}...,
                    KernelEntry{lowering::kLowered, Steps<float>::kOperator, Make}...};
}
constexpr auto kKernels = EntriesOf(OptimizerSteps());

}  // namespace

std::span<const KernelEntry> OptimizerFamily() { return kKernels; }

}  // namespace hr::cpu
