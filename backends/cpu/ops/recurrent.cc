// RNN, GRU and LSTM with their gradients.
#include "backends/cpu/kernels/recurrent.h"

#include "backends/cpu/ops/families.h"
#include "backends/cpu/ops/request.h"

namespace hr::cpu {
namespace {

using ops::RecurrentPlaces;

// `x`: the place of the input x, which w and r follow.
Result<RecurrentShape> RecurrentShapeOf(const KernelRequest& request, size_t x) {
  HR_ASSIGN_OR_RETURN(const ops::RecurrentOptions options,
                      ops::ResolveRecurrent(request.op.name, request.node));
  RecurrentShape out;
  const Dims& dims = request.input(x).dims;
  out.batch_first = options.batch_first;
  out.steps = dims[options.batch_first ? 1 : 0];
  out.batch = dims[options.batch_first ? 0 : 1];
  out.input = dims[2];
  out.slices = request.threads;
  for (const ops::RecurrentDirection& direction : options.directions) {
    out.directions.push_back({options.cell, direction, options.clip, request.input(x + 2).dims[2],
                              options.linear_before_reset, options.input_forget});
  }
  return out;
}

// Null for an operand that the operator or the node does not have.
template <typename T>
const T* In(const engine::Operands& p, size_t i, size_t count) {
  return i < count ? p.input<T>(i) : nullptr;
}
template <typename T>
T* Out(const engine::Operands& p, size_t i, size_t count) {
  return i < count ? p.output<T>(i) : nullptr;
}

// Which of the outputs somebody reads.
std::vector<bool> WantedOutputs(const KernelRequest& request) {
  std::vector<bool> wanted;
  for (const OperandInfo& output : request.outputs) {
    wanted.push_back(output.present && !output.unused);
  }
  return wanted;
}

Status CheckLengths(const int32_t* lengths, const RecurrentShape& shape) {
  for (int64_t n = 0; lengths != nullptr && n < shape.batch; ++n) {
    if (lengths[n] >= 0 && lengths[n] <= shape.steps) continue;
    return InvalidArgument("sequence_lens wants lengths from 0 to the ", shape.steps,
                           " steps of the input, got ", lengths[n], " for sequence ", n);
  }
  return {};
}

template <typename T>
Result<LoweredKernel> MakeRecurrentOf(const KernelRequest& request) {
  HR_ASSIGN_OR_RETURN(const RecurrentShape shape, RecurrentShapeOf(request, 0));
  const RecurrentPlaces& places = ops::PlacesOf(shape.directions[0].cell);
  const size_t inputs = request.inputs.size(), outputs = request.outputs.size();
  LoweredKernel out;
  out.scratch_bytes = RecurrentScratchBytes<T>(shape);
  out.kernel = MakeKernel(
      "recurrent",
      [=, &places](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
        const RecurrentForward<T> operands = {.x = p.input<T>(0),
                                              .w = p.input<T>(1),
                                              .r = p.input<T>(2),
                                              .bias = In<T>(p, 3, inputs),
                                              .lengths = In<int32_t>(p, 4, inputs),
                                              .initial_h = In<T>(p, 5, inputs),
                                              .initial_c = In<T>(p, places.initial_c, inputs),
                                              .peepholes = In<T>(p, places.peepholes, inputs),
                                              .y = Out<T>(p, 0, outputs),
                                              .y_h = Out<T>(p, 1, outputs),
                                              .y_c = Out<T>(p, places.y_c, outputs),
                                              .record = Out<T>(p, places.record, outputs)};
        HR_RETURN_IF_ERROR(CheckLengths(operands.lengths, shape));
        Recurrent(context.threads, shape, operands, p.scratch());
        return {};
      });
  return out;
}

template <typename T>
Result<LoweredKernel> MakeRecurrentGradOf(const KernelRequest& request) {
  HR_ASSIGN_OR_RETURN(const RecurrentShape shape, RecurrentShapeOf(request, 1));
  const RecurrentPlaces& places = ops::PlacesOf(shape.directions[0].cell);
  const size_t inputs = request.inputs.size();
  const bool lstm = shape.directions[0].cell == ops::RecurrentCell::kLstm;
  const std::vector<bool> wanted = WantedOutputs(request);
  LoweredKernel out;
  out.scratch_bytes = RecurrentGradScratchBytes<T>(shape);
  out.kernel = MakeKernel(
      "recurrent_grad",
      [=, &places](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
        const auto output = [&](size_t i) {
          return i < wanted.size() && wanted[i] ? p.output<T>(i) : nullptr;
        };
        const RecurrentBackward<T> operands = {.record = p.input<T>(0),
                                               .x = p.input<T>(1),
                                               .w = p.input<T>(2),
                                               .r = p.input<T>(3),
                                               .lengths = In<int32_t>(p, 4, inputs),
                                               .initial_h = In<T>(p, 5, inputs),
                                               .initial_c = In<T>(p, places.initial_c, inputs),
                                               .peepholes = In<T>(p, places.peepholes, inputs),
                                               .dy = In<T>(p, places.dy, inputs),
                                               .dy_h = In<T>(p, places.dy_h, inputs),
                                               .dy_c = In<T>(p, places.dy_c, inputs),
                                               .dw = output(0),
                                               .dr = output(1),
                                               .dbias = output(2),
                                               .d_initial_h = output(3),
                                               .d_initial_c = lstm ? output(4) : nullptr,
                                               .d_peepholes = lstm ? output(5) : nullptr,
                                               .dx = output(places.dx)};
        HR_RETURN_IF_ERROR(CheckLengths(operands.lengths, shape));
        RecurrentGrad(context.threads, shape, operands, p.scratch());
        return {};
      });
  return out;
}

Result<LoweredKernel> MakeRecurrent(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype,
                     [&]<typename T>() { return MakeRecurrentOf<T>(request); });
}
Result<LoweredKernel> MakeRecurrentGrad(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype,
                     [&]<typename T>() { return MakeRecurrentGradOf<T>(request); });
}

constexpr KernelEntry kRecurrentKernels[] = {
    {"", "RNN", MakeRecurrent},
    {"", "GRU", MakeRecurrent},
    {"", "LSTM", MakeRecurrent},
    {"headrace.grad", "RNNGrad", MakeRecurrentGrad},
    {"headrace.grad", "GRUGrad", MakeRecurrentGrad},
    {"headrace.grad", "LSTMGrad", MakeRecurrentGrad},
};

}  // namespace

KernelPart RecurrentFamily() { return ChosenKernels<kRecurrentKernels>(); }

}  // namespace hr::cpu
