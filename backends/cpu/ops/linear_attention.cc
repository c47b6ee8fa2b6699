// LinearAttention with its gradient.
#include "backends/cpu/kernels/linear_attention.h"

#include <cmath>

#include "backends/cpu/ops/families.h"
#include "backends/cpu/ops/request.h"

namespace hr::cpu {
namespace {

LinearAttentionShape ShapeOf(const KernelRequest& request) {
  const Dims &q = request.input(0).dims, &v = request.input(2).dims;
  const int64_t q_heads = request.node.Int("q_num_heads", 1);
  LinearAttentionShape out{};
  out.batch = q[0];
  out.steps = q[1];
  out.heads = request.node.Int("kv_num_heads", 1);
  out.group = q_heads / out.heads;
  out.keys = q[2] / q_heads;
  out.values = v[2] / out.heads;
  const double scale = request.node.Float("scale", 0);
  out.scale = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(out.keys));
  if (request.input(4).present) out.decay_each = request.input(4).dims[2] / out.heads;
  out.beta = request.input(5).present;
  out.one_beta = out.beta && out.heads > 1 && request.input(5).dims[2] == 1;
  out.slices = request.threads;
  return out;
}

// All operands have the type of the first.
Status CheckTypes(const KernelRequest& request) {
  for (const OperandInfo& input : request.inputs) {
    if (!input.present || input.dtype == request.input(0).dtype) continue;
    return Unimplemented(request.op.name, " of ", DTypeName(request.input(0).dtype), " with ",
                         DTypeName(input.dtype), " has no CPU kernel; insert a Cast");
  }
  return {};
}

template <typename T>
LinearAttentionInputs<T> InputsOf(const engine::Operands& p, size_t count) {
  const auto in = [&](size_t i) { return i < count ? p.input<T>(i) : nullptr; };
  return {in(0), in(1), in(2), in(3), in(4), in(5)};
}

template <typename T>
Result<LoweredKernel> MakeForward(const KernelRequest& request) {
  HR_RETURN_IF_ERROR(CheckTypes(request));
  const LinearAttentionShape shape = ShapeOf(request);
  const size_t inputs = request.inputs.size();
  const bool present = request.has_output(1);
  LoweredKernel out;
  out.scratch_bytes = LinearAttentionScratchBytes<T>(shape);
  out.kernel = MakeKernel(
      "linear_attention", [=](const engine::Operands& p, const engine::LaunchContext& context) {
        LinearAttention<T>(context.threads, shape, InputsOf<T>(p, inputs), p.output<T>(0),
                           present ? p.output<T>(1) : nullptr, p.scratch());
        return Status();
      });
  return out;
}

template <typename T>
Result<LoweredKernel> MakeBackward(const KernelRequest& request) {
  HR_RETURN_IF_ERROR(CheckTypes(request));
  const LinearAttentionShape shape = ShapeOf(request);
  const size_t inputs = request.inputs.size();
  LoweredKernel out;
  out.scratch_bytes = LinearAttentionGradScratchBytes<T>(shape);
  out.kernel = MakeKernel("linear_attention_grad", [=](const engine::Operands& p,
                                                       const engine::LaunchContext& context) {
    const auto in = [&](size_t i) { return i < inputs ? p.input<T>(i) : nullptr; };
    const LinearAttentionGrads<T> grads = {in(6),          in(7),          p.output<T>(0),
                                           p.output<T>(1), p.output<T>(2), p.output<T>(3),
                                           p.output<T>(4), p.output<T>(5)};
    LinearAttentionGrad(context.threads, shape, InputsOf<T>(p, inputs), grads, p.scratch());
    return Status();
  });
  return out;
}

Result<LoweredKernel> Forward(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype,
                     [&]<typename T>() { return MakeForward<T>(request); });
}
Result<LoweredKernel> Backward(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype,
                     [&]<typename T>() { return MakeBackward<T>(request); });
}

constexpr KernelEntry kLinearAttentionKernels[] = {
    {"", "LinearAttention", Forward},
    {"headrace.grad", "LinearAttentionGrad", Backward},
};

}  // namespace

KernelPart LinearAttentionFamily() { return ChosenKernels<kLinearAttentionKernels>(); }

}  // namespace hr::cpu
