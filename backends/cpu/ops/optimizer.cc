// Optimizer steps, of one variable (headrace.train) and of many (cpu).
#include "backends/cpu/kernels/optimizer.h"

#include "backends/cpu/ops/families.h"

namespace hr::cpu {
namespace {

// The learning rate is a scalar of its own floating type.
double LearningRate(const void* data, DType dtype) {
  return dtype == DType::kFloat64 ? *static_cast<const double*>(data)
                                  : static_cast<double>(*static_cast<const float*>(data));
}

SgdOptions SettingsOf(const graph::Node& node, SgdOptions) {
  return {.momentum = node.Float("momentum", 0),
          .dampening = node.Float("dampening", 0),
          .weight_decay = node.Float("weight_decay", 0),
          .nesterov = node.Int("nesterov", 0) != 0};
}
AdamOptions SettingsOf(const graph::Node& node, AdamOptions) {
  return {.beta1 = node.Float("beta1", 0.9),
          .beta2 = node.Float("beta2", 0.999),
          .epsilon = node.Float("epsilon", 1e-8),
          .weight_decay = node.Float("weight_decay", 0),
          .decoupled = node.Int("decoupled", 0) != 0};
}
AdaGradOptions SettingsOf(const graph::Node& node, AdaGradOptions) {
  return {.epsilon = node.Float("epsilon", 1e-10), .weight_decay = node.Float("weight_decay", 0)};
}
RmsPropOptions SettingsOf(const graph::Node& node, RmsPropOptions) {
  return {.alpha = node.Float("alpha", 0.99),
          .momentum = node.Float("momentum", 0),
          .epsilon = node.Float("epsilon", 1e-8),
          .weight_decay = node.Float("weight_decay", 0)};
}

// Inputs: the learning rate and a gradient a step. Variables: `width` a step, the parameter, its
// state, and where `counted` the number of its steps.
struct Updates {
  size_t steps, width;
  bool counted;
  DType rate;
  std::vector<int64_t> counts;
};

template <typename T>
void Fill(const Updates& operands, engine::Operands p, OptimizerTensor<T>* tensors) {
  for (size_t i = 0; i < operands.steps; ++i) {
    const size_t first = i * operands.width;
    size_t states = operands.width - 1 - (operands.counted ? 1 : 0);
    tensors[i] = {.parameter = p.variable<T>(first),
                  .gradient = p.input<T>(1 + i),
                  .count = operands.counts[i]};
    for (size_t s = 0; s < states; ++s) tensors[i].state[s] = p.variable<T>(first + 1 + s);
  }
}

// Adam corrects by the number of steps; parameters that agree about it are updated together.
template <typename T>
void UpdateCounted(const engine::LaunchContext& context, const Updates& operands,
                   engine::Operands p, std::span<const OptimizerTensor<T>> tensors,
                   AdamOptions options, int slices) {
  auto counter = [&](size_t i) { return p.variable<int64_t>((i + 1) * operands.width - 1); };
  for (size_t begin = 0; begin < tensors.size();) {
    options.step = *counter(begin) + 1;
    size_t end = begin;
    while (end < tensors.size() && *counter(end) + 1 == options.step) ++*counter(end++);
    UpdateParameters<T>(context.threads, tensors.subspan(begin, end - begin), options, slices);
    begin = end;
  }
}

template <typename T, typename Options>
Result<LoweredKernel> MakeUpdate(const KernelRequest& request, size_t width) {
  constexpr bool kCounted = std::is_same_v<Options, AdamOptions>;
  Updates operands{.steps = request.inputs.size() - 1,
                   .width = width,
                   .counted = kCounted,
                   .rate = request.input(0).dtype};
  for (size_t i = 0; i < operands.steps; ++i) {
    operands.counts.push_back(request.variables[i * width].elements());
  }
  Options settings = SettingsOf(request.node, Options{});
  int slices = request.threads;
  LoweredKernel out;
  out.scratch_bytes = operands.steps * sizeof(OptimizerTensor<T>);
  out.kernel = MakeKernel(Cat(request.op.name, " of ", operands.steps,
                              operands.steps == 1 ? " variable" : " variables"),
                          [operands = std::move(operands), settings, slices](
                              engine::Operands p, const engine::LaunchContext& context) -> Status {
                            auto* tensors = p.scratch<OptimizerTensor<T>>();
                            Fill(operands, p, tensors);
                            std::span<const OptimizerTensor<T>> all(tensors, operands.steps);
                            Options options = settings;
                            options.learning_rate = LearningRate(p.input(0), operands.rate);
                            if constexpr (kCounted) {
                              UpdateCounted<T>(context, operands, p, all, options, slices);
                            } else {
                              UpdateParameters<T>(context.threads, all, options, slices);
                            }
                            return {};
                          });
  return out;
}

template <typename Options, size_t kWidth>
Result<LoweredKernel> Make(const KernelRequest& request) {
  DType rate = request.input(0).dtype;
  if (rate != DType::kFloat32 && rate != DType::kFloat64) {
    return Unimplemented(request.op.name, " takes a learning rate of float32 or float64 here, got ",
                         DTypeName(rate));
  }
  return ForFloating(request, request.input(1).dtype,
                     [&]<typename T>() { return MakeUpdate<T, Options>(request, kWidth); });
}

constexpr KernelEntry kKernels[] = {
    {"headrace.train", "SGD", Make<SgdOptions, 2>},
    {lowering::kLowered, "SGD", Make<SgdOptions, 2>},
    {"headrace.train", "Adam", Make<AdamOptions, 4>},
    {lowering::kLowered, "Adam", Make<AdamOptions, 4>},
    {"headrace.train", "AdaGrad", Make<AdaGradOptions, 2>},
    {"headrace.train", "RMSProp", Make<RmsPropOptions, 3>},
};

}  // namespace

std::span<const KernelEntry> OptimizerKernels() { return kKernels; }

}  // namespace hr::cpu
