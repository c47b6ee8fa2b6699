// Optimizer steps, of one variable (headrace.train) and of many (cpu).
#include "backends/cpu/kernels/optimizer.h"

#include <array>
#include <utility>

#include "backends/cpu/kernels/convert.h"
#include "backends/cpu/ops/families.h"
#include "runtime/ops/optimizer.h"

namespace hr::cpu {
namespace {

using functors::OptimizerSteps;
using functors::StepList;

// The learning rate is a scalar of float or double, whatever the parameters are.
double LearningRate(const void* data, DType dtype) {
  return dtype == DType::kFloat64 ? *static_cast<const double*>(data)
                                  : static_cast<double>(*static_cast<const float*>(data));
}

// The inputs are the learning rate, a gradient for each step, and perhaps whether to step at all.
// The variables are, for each step, the parameter and then its state.
struct Updates {
  const ops::OptimizerDef* def;
  size_t steps;
  DType rate;
  DType type;  // of the parameters
  bool conditional;
  std::vector<int64_t> counts;
  std::vector<bool> needed;  // by state

  size_t width() const { return 1 + def->state.size(); }
  bool Skips(const engine::Operands& p) const { return conditional && !*p.input<bool>(1 + steps); }
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
  Updates out{.def = &def,
              .steps = request.variables.size() / (1 + def.state.size()),
              .rate = request.input(0).dtype,
              .type = request.input(1).dtype};
  out.conditional = request.input(1 + out.steps).present;
  for (size_t i = 0; i < out.steps; ++i)
    out.counts.push_back(request.variables[i * out.width()].elements());
  for (const ops::OptimizerState& state : def.state)
    out.needed.push_back(ops::Needs(def, state, settings));
  return out;
}

size_t SumBytes(const Updates& updates) {
  return SquareSumCount(OptimizerStep(updates.def->op), updates.counts) * sizeof(SquareSums);
}

// In float or double, where the tensors lie.
template <typename T>
struct InPlace {
  static size_t ScratchBytes(const Updates& updates) {
    return updates.steps * sizeof(OptimizerTensor<T>) + SumBytes(updates);
  }
  static void Run(const Updates& updates, const OptimizerUpdate& update, const engine::Operands& p,
                  const Lease& threads, int slices) {
    auto* tensors = p.scratch<OptimizerTensor<T>>();
    for (size_t i = 0; i < updates.steps; ++i) tensors[i] = TensorOf<T>(updates, p, i);
    UpdateParameters<T>(threads, {tensors, updates.steps}, update,
                        LearningRate(p.input(0), updates.rate), slices,
                        reinterpret_cast<SquareSums*>(tensors + updates.steps));
  }
};

// float16 and bfloat16, in float copies.
struct InCopies {
  using Half = OptimizerTensor<uint16_t>;
  using Whole = OptimizerTensor<float>;

  static size_t ScratchBytes(const Updates& updates) {
    int64_t floats = 0;
    for (const int64_t count : updates.counts)
      floats += count * (2 + functors::OptimizerSteps::kMostStates);
    return updates.steps * sizeof(Whole) + SumBytes(updates) +
           static_cast<size_t>(floats) * sizeof(float);
  }

  static void Run(const Updates& updates, const OptimizerUpdate& update, const engine::Operands& p,
                  const Lease& threads, int slices) {
    auto* tensors = p.scratch<Whole>();
    auto* sums = reinterpret_cast<SquareSums*>(tensors + updates.steps);
    auto* memory = reinterpret_cast<float*>(reinterpret_cast<char*>(sums) + SumBytes(updates));
    for (size_t i = 0; i < updates.steps; ++i) {
      const Half half = TensorOf<uint16_t>(updates, p, i);
      const auto load = [&](const uint16_t* from) -> float* {
        if (from == nullptr) return nullptr;
        Cast(threads, updates.type, from, DType::kFloat32, memory, half.count, slices);
        return std::exchange(memory, memory + half.count);
      };
      tensors[i] = {.parameter = load(half.parameter),
                    .gradient = load(half.gradient),
                    .counter = half.counter,
                    .count = half.count};
      for (size_t s = 0; s < std::size(half.state); ++s) tensors[i].state[s] = load(half.state[s]);
    }
    UpdateParameters<float>(threads, {tensors, updates.steps}, update,
                            LearningRate(p.input(0), updates.rate), slices, sums);
    for (size_t i = 0; i < updates.steps; ++i) {
      const Half half = TensorOf<uint16_t>(updates, p, i);
      const auto store = [&](const float* from, uint16_t* to) {
        if (to != nullptr)
          Cast(threads, DType::kFloat32, from, updates.type, to, half.count, slices);
      };
      store(tensors[i].parameter, half.parameter);
      for (size_t s = 0; s < std::size(half.state); ++s) store(tensors[i].state[s], half.state[s]);
    }
  }
};

template <typename How>
LoweredKernel MakeUpdate(const KernelRequest& request) {
  const ops::OptimizerDef& def = *ops::FindOptimizerOfOp(request.op.name);
  OptimizerUpdate update{.step = OptimizerStep(request.op.name),
                         .settings = ops::SettingsOf(def, request.node)};
  Updates updates = UpdatesOf(request, def, update.settings);
  LoweredKernel out;
  out.scratch_bytes = How::ScratchBytes(updates);
  std::string description =
      Cat(request.op.name, " of ", updates.steps, updates.steps == 1 ? " variable" : " variables");
  out.kernel = MakeKernel(
      std::move(description),
      [updates = std::move(updates), update = std::move(update), slices = request.threads](
          const engine::Operands& p, const engine::LaunchContext& context) {
        if (!updates.Skips(p)) How::Run(updates, update, p, context.threads, slices);
        return Status();
      });
  return out;
}

Result<LoweredKernel> Make(const KernelRequest& request) {
  const DType type = request.input(1).dtype;
  if (type == DType::kFloat16 || type == DType::kBfloat16) return MakeUpdate<InCopies>(request);
  return ForFloating(request, type, [&]<typename T>() -> Result<LoweredKernel> {
    return MakeUpdate<InPlace<T>>(request);
  });
}

template <template <class> class... Steps>
constexpr auto EntriesOf(StepList<Steps...>) {
  return std::array{KernelEntry{"headrace.train", Steps<float>::kOperator, Make}...,
                    KernelEntry{lowering::kLowered, Steps<float>::kOperator, Make}...};
}
constexpr auto kOptimizerKernels = EntriesOf(OptimizerSteps());

}  // namespace

KernelPart OptimizerFamily() { return ChosenKernels<kOptimizerKernels>(); }

}  // namespace hr::cpu
