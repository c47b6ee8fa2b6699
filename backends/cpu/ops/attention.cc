// Attention, which runtime/lowering/fuse_attention.h finds in graphs.
#include "backends/cpu/kernels/attention.h"

#include "backends/cpu/ops/families.h"
#include "backends/cpu/ops/request.h"

namespace hr::cpu {
namespace {

// An operand as [batch, heads, rows, features], or [batch, rows, features].
struct HeadView {
  Dims dims;  // always four
  HeadStrides strides;
};

// `attribute` lists the axes of memory that are the operand's.
HeadView ViewOf(const OperandInfo& operand, const graph::Node& node, Literal attribute) {
  const Dims strides = ContiguousStrides(operand.dims);
  HeadView view;
  Dims distances;
  for (int64_t axis : node.Ints(attribute)) {
    view.dims.push_back(operand.dims[static_cast<size_t>(axis)]);
    distances.push_back(strides[static_cast<size_t>(axis)]);
  }
  if (view.dims.size() == 3) {
    view.dims.insert(view.dims.begin() + 1, 1);
    distances.insert(distances.begin() + 1, 0);
  }
  view.strides = {distances[0], distances[1], distances[2]};
  return view;
}

// The mask broadcasts to the scores, of `rank` axes.
void SetMask(const OperandInfo& mask, size_t rank, AttentionShape* shape) {
  shape->masked = mask.present;
  if (!mask.present) return;
  Dims distances(rank, 0);
  const Dims strides = ContiguousStrides(mask.dims);
  for (size_t i = 0; i < mask.dims.size(); ++i) {
    if (mask.dims[i] != 1) distances[rank - mask.dims.size() + i] = strides[i];
  }
  if (rank == 3) distances.insert(distances.begin() + 1, 0);
  shape->mask = {distances[0], distances[1], distances[2]};
  shape->mask_column = distances[3];
}

// `first`: the place of q, which k, v and the mask follow.
AttentionShape ShapeOf(const KernelRequest& request, size_t first) {
  const graph::Node& node = request.node;
  const HeadView q = ViewOf(request.input(first), node, "q_axes");
  const HeadView k = ViewOf(request.input(first + 1), node, "k_axes");
  const HeadView v = ViewOf(request.input(first + 2), node, "v_axes");
  AttentionShape shape{.batch = q.dims[0],
                       .heads = q.dims[1],
                       .queries = q.dims[2],
                       .keys = k.dims[2],
                       .size = q.dims[3],
                       .value_size = v.dims[3],
                       .scale = node.Float("scale", 1),
                       .q = q.strides,
                       .k = k.strides,
                       .v = v.strides};
  SetMask(request.input(first + 3), node.Ints("q_axes").size(), &shape);
  return shape;
}

// (q, k, v, mask?) → out
template <typename T>
Result<LoweredKernel> MakeAttentionOf(const KernelRequest& request) {
  AttentionShape shape = ShapeOf(request, 0);
  shape.out = ViewOf(request.outputs[0], request.node, "out_axes").strides;
  const int slices = request.threads;
  LoweredKernel out{.scratch_bytes = AttentionScratchBytes<T>(shape, slices)};
  out.kernel = MakeKernel(
      "attention", [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
        const T* mask = shape.masked ? p.input<T>(3) : nullptr;
        Attention(context.threads, shape, p.input<T>(0), p.input<T>(1), p.input<T>(2), mask,
                  p.output<T>(0), slices, p.scratch());
        return {};
      });
  return out;
}

// (dout, q, k, v, mask?) → (dq, dk, dv)
template <typename T>
Result<LoweredKernel> MakeAttentionGradOf(const KernelRequest& request) {
  AttentionShape shape = ShapeOf(request, 1);
  shape.out = ViewOf(request.input(0), request.node, "out_axes").strides;
  shape.dq = ViewOf(request.outputs[0], request.node, "dq_axes").strides;
  shape.dk = ViewOf(request.outputs[1], request.node, "dk_axes").strides;
  shape.dv = ViewOf(request.outputs[2], request.node, "dv_axes").strides;
  const int slices = request.threads;
  LoweredKernel out{.scratch_bytes = AttentionGradScratchBytes<T>(shape, slices)};
  out.kernel =
      MakeKernel("attention_grad",
                 [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                   const T* mask = shape.masked ? p.input<T>(4) : nullptr;
                   AttentionGrad(context.threads, shape, p.input<T>(0), p.input<T>(1),
                                 p.input<T>(2), p.input<T>(3), mask, p.output<T>(0), p.output<T>(1),
                                 p.output<T>(2), slices, p.scratch());
                   return {};
                 });
  return out;
}

Result<LoweredKernel> MakeAttention(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype,
                     [&]<typename T>() { return MakeAttentionOf<T>(request); });
}
Result<LoweredKernel> MakeAttentionGrad(const KernelRequest& request) {
  return ForFloating(request, request.input(0).dtype,
                     [&]<typename T>() { return MakeAttentionGradOf<T>(request); });
}

constexpr KernelEntry kAttentionKernels[] = {
    {lowering::kLowered, "Attention", MakeAttention, false, "Softmax"},
    {lowering::kLowered, "AttentionGrad", MakeAttentionGrad, false, "headrace.grad.SoftmaxGrad"},
};

}  // namespace

KernelPart AttentionFamily() { return ChosenKernels<kAttentionKernels>(); }

}  // namespace hr::cpu
