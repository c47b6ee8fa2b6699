// Attention, which runtime/lowering/fuse_attention.h finds in graphs.
#include "backends/cpu/kernels/attention.h"

#include <bit>

#include "backends/cpu/kernels/narrow_attention.h"
#include "backends/cpu/ops/families.h"
#include "backends/cpu/ops/request.h"
#include "runtime/lowering/fuse_attention.h"

namespace hr::cpu {
namespace {

constexpr size_t kAxes = 5;  // batch, heads, groups, rows, features

// A list for [batch, rows, features] or [batch, heads, rows, features] with all axes.
Dims WithAllAxes(Dims list, int64_t fill) {
  const auto at = static_cast<int64_t>(list.size()) - 2;
  list.insert(list.begin() + at, kAxes - list.size(), fill);
  return list;
}

struct HeadView {
  Dims dims;  // of all axes
  HeadStrides strides;
  bool turned = false;  // rows follow each other instead of features, whose stride is `row`
};

// `attribute` lists the axes of memory that are the operand's.
HeadView ViewOf(const OperandInfo& operand, const graph::Node& node, Literal attribute) {
  const auto axes = node.Ints(attribute);
  const Dims strides = ContiguousStrides(operand.dims);
  Dims dims, distances;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    dims.push_back(operand.dims[axis]);
    const bool broadcast = i + 2 < axes.size() && dims.back() == 1;
    distances.push_back(broadcast ? 0 : strides[axis]);
  }
  const bool turned = axes.back() != static_cast<int64_t>(axes.size()) - 1;
  distances = WithAllAxes(std::move(distances), 0);
  return {WithAllAxes(std::move(dims), 1),
          {distances[0], distances[1], distances[2], distances[turned ? 4 : 3]},
          turned};
}

// A mask broadcasts to the scores, of `rank` axes.
void SetStrides(const Dims& dims, size_t rank, AttentionMask* mask) {
  Dims distances(rank, 0);
  const Dims strides = ContiguousStrides(dims);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != 1) distances[rank - dims.size() + i] = strides[i];
  }
  distances = WithAllAxes(std::move(distances), 0);
  mask->strides = {distances[0], distances[1], distances[2], distances[3]};
  mask->column = distances[4];
}

// `first`: the place of the first mask.
void SetMasks(const KernelRequest& request, size_t first, AttentionShape* shape) {
  static_assert(kMaxAttentionMasks == lowering::kMaxScoreMasks);
  const auto kinds = request.node.Ints("mask_kinds"), numbers = request.node.Ints("mask_numbers");
  shape->mask_count = kinds.size();
  for (size_t i = 0; i < kinds.size(); ++i) {
    AttentionMask& mask = shape->masks[i];
    mask.kind = static_cast<AttentionMask::Kind>(kinds[i]);
    mask.number = std::bit_cast<double>(numbers[i]);
    const OperandInfo& operand = request.input(first + i);
    mask.element = static_cast<int64_t>(DTypeSize(operand.dtype));
    if (DTypeSize(operand.dtype) == 2) mask.load = LoaderFor(operand.dtype, ElementType::kFloat);
    SetStrides(operand.dims, request.node.Ints("q_axes").size(), &mask);
  }
  if (request.node.Find("nan") != nullptr) shape->nan = request.node.Float("nan", 0);
}

AttentionMaskData MasksOf(const AttentionShape& shape, const engine::Operands& p, size_t first) {
  AttentionMaskData masks = {};
  for (size_t i = 0; i < shape.mask_count; ++i) masks[i] = p.input(first + i);
  return masks;
}

// `first`: the place of q, which k, v and the mask follow.
AttentionShape ShapeOf(const KernelRequest& request, size_t first) {
  const graph::Node& node = request.node;
  const HeadView q = ViewOf(request.input(first), node, "q_axes");
  const HeadView k = ViewOf(request.input(first + 1), node, "k_axes");
  const HeadView v = ViewOf(request.input(first + 2), node, "v_axes");
  AttentionShape shape{.batch = q.dims[0],
                       .heads = q.dims[1],
                       .groups = q.dims[2],
                       .queries = q.dims[3],
                       .keys = k.dims[3],
                       .size = q.dims[4],
                       .value_size = v.dims[4],
                       .scale = node.Float("scale", 1),
                       .q = q.strides,
                       .k = k.strides,
                       .v = v.strides,
                       .turned_k = k.turned};
  SetMasks(request, first + 3, &shape);
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
        Attention(context.threads, shape, p.input<T>(0), p.input<T>(1), p.input<T>(2),
                  MasksOf(shape, p, 3), p.output<T>(0), slices, p.scratch());
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
  const HeadView dk = ViewOf(request.outputs[1], request.node, "dk_axes");
  shape.dk = dk.strides;
  shape.turned_dk = dk.turned;
  shape.dv = ViewOf(request.outputs[2], request.node, "dv_axes").strides;
  const int slices = request.threads;
  LoweredKernel out{.scratch_bytes = AttentionGradScratchBytes<T>(shape, slices)};
  out.kernel =
      MakeKernel("attention_grad",
                 [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
                   AttentionGrad(context.threads, shape, p.input<T>(0), p.input<T>(1),
                                 p.input<T>(2), p.input<T>(3), MasksOf(shape, p, 4), p.output<T>(0),
                                 p.output<T>(1), p.output<T>(2), slices, p.scratch());
                   return {};
                 });
  return out;
}

Result<LoweredKernel> MakeNarrowAttention(const KernelRequest& request) {
  AttentionShape shape = ShapeOf(request, 0);
  shape.out = ViewOf(request.outputs[0], request.node, "out_axes").strides;
  const DType dtype = request.input(0).dtype;
  const auto attention = std::make_shared<const NarrowAttention>(
      shape, dtype, dtype == DType::kBfloat16 ? KernelsForBfloat16() : nullptr, request.threads);
  LoweredKernel out{.scratch_bytes = attention->scratch_bytes()};
  out.kernel = MakeKernel(
      "attention", [=](const engine::Operands& p, const engine::LaunchContext& context) -> Status {
        attention->Run(context.threads, p.input<uint16_t>(0), p.input<uint16_t>(1),
                       p.input<uint16_t>(2), MasksOf(shape, p, 3), p.output<uint16_t>(0),
                       p.scratch());
        return {};
      });
  return out;
}

Result<LoweredKernel> MakeAttention(const KernelRequest& request) {
  if (DTypeSize(request.input(0).dtype) == 2) return MakeNarrowAttention(request);
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
