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

// Inputs: the learning rate and a gradient a step. Variables a step: the parameter, then its state.
struct Operands {
  const ops::OptimizerDef* def;
  size_t steps, first_variable, scratch;
  DType rate;
  std::vector<int64_t> counts;
  std::vector<bool> needed;  // by state

  size_t width() const { return 1 + def->state.size(); }
};

template <typename T>
OptimizerTensor<T> TensorOf(const Operands& operands, void* const* p, size_t i) {
  void* const* variables = p + operands.first_variable + i * operands.width();
  OptimizerTensor<T> out{.parameter = static_cast<T*>(variables[0]),
                         .gradient = static_cast<const T*>(p[1 + i]),
                         .count = operands.counts[i]};
  size_t arrays = 0;
  for (size_t s = 0; s < operands.needed.size(); ++s) {
    void* const state = variables[1 + s];
    if (operands.def->state[s].counter) {
      out.counter = static_cast<int64_t*>(state);
    } else {
      out.state[arrays++] = operands.needed[s] ? static_cast<T*>(state) : nullptr;
    }
  }
  return out;
}

Operands OperandsOf(const KernelRequest& request, const ops::OptimizerDef& def,
                    std::span<const double> settings) {
  Operands out{.def = &def,
               .steps = request.inputs.size() - 1,
               .first_variable = request.variable_index(0),
               .scratch = request.scratch_index(),
               .rate = request.input(0).dtype};
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
  Operands operands = OperandsOf(request, def, update.settings);
  LoweredKernel out;
  out.scratch_bytes = operands.steps * sizeof(OptimizerTensor<T>);
  std::string description = Cat(request.op.name, " of ", operands.steps,
                                operands.steps == 1 ? " variable" : " variables");
  out.kernel = MakeKernel(std::move(description),
                          [operands = std::move(operands), update = std::move(update),
                           slices = request.threads](void* const* p, const RunContext& context) {
                            auto* tensors = static_cast<OptimizerTensor<T>*>(p[operands.scratch]);
                            for (size_t i = 0; i < operands.steps; ++i)
                              tensors[i] = TensorOf<T>(operands, p, i);
                            UpdateParameters<T>(context.threads, {tensors, operands.steps}, update,
                                                LearningRate(p[0], operands.rate), slices);
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
                    KernelEntry{"cpu", Steps<float>::kOperator, Make}...};
}
constexpr auto kKernels = EntriesOf(OptimizerSteps());

}  // namespace

std::span<const KernelEntry> OptimizerKernels() { return kKernels; }

}  // namespace hr::cpu
