// Convolution in one to three (or more) spatial dimensions.
#include <array>

#include "runtime/ops/builtin.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/infer_gradient.h"
#include "runtime/ops/window.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kConvAttributes[] = {
    {"auto_pad", AttributeKind::kString}, {"dilations", AttributeKind::kInts},
    {"group", AttributeKind::kInt},       {"kernel_shape", AttributeKind::kInts},
    {"pads", AttributeKind::kInts},       {"strides", AttributeKind::kInts},
};

// Checks the channels per group if both are known: x [N, C, …], w [M, C / group, …].
Status CheckChannels(const InferContext& context, const ValueType& x, const ValueType& w) {
  int64_t group = context.node().Int("group", 1);
  if (group < 1) return InvalidArgument("Conv's attribute 'group' is 1 or more, got ", group);
  Dim channels = x.dims[1];
  Dim per_group = w.dims[1];
  bool fits = !channels.fixed() || !per_group.fixed() ||
              (channels.size % group == 0 && channels.size / group == per_group.size);
  if (!fits) {
    return InvalidArgument("Conv's weights want ", per_group.size, " channels per group, got ",
                           context.Text(x), " in ", group, " groups with weights ",
                           context.Text(w));
  }
  if (w.dims[0].fixed() && w.dims[0].size % group != 0) {
    return InvalidArgument("Conv's ", w.dims[0].size, " output channels do not divide into ", group,
                           " groups");
  }
  return {};
}

// Returns the kernel's size by attribute or by the weights' type; nothing if neither tells.
Result<std::optional<Dims>> KernelShape(const InferContext& context, const ValueType& w) {
  auto given = context.node().Ints("kernel_shape");
  Dims kernel(given.begin(), given.end());
  for (size_t i = 2; i < w.dims.size(); ++i) {
    if (given.empty()) {
      if (!w.dims[i].fixed()) return std::optional<Dims>();
      kernel.push_back(w.dims[i].size);
    } else if (given.size() != w.dims.size() - 2 ||
               (w.dims[i].fixed() && w.dims[i].size != given[i - 2])) {
      return InvalidArgument("Conv's attribute 'kernel_shape' ", given,
                             " does not fit the weights ", context.Text(w));
    }
  }
  return std::optional<Dims>(std::move(kernel));
}

Status CheckConvBias(const InferContext& context, Dim outputs) {
  if (!context.has_input(2)) return {};
  HR_RETURN_IF_ERROR(context.ExpectSameDType(0, 2));
  HR_RETURN_IF_ERROR(context.ExpectRank(2, 1));
  if (!context.input(2).ranked) return {};
  return EqualDims(context, "output channels and bias", outputs, context.input(2).dims[0]).status();
}

Status InferConv(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectFloating(0));
  HR_RETURN_IF_ERROR(context.ExpectSameDType(0, 1));
  HR_RETURN_IF_ERROR(context.ExpectRankAtLeast(0, 3));
  const ValueType& x = context.input(0);
  const ValueType& w = context.input(1);
  if (!x.ranked || !w.ranked) {
    context.SetUnranked(0, x.dtype);
    return {};
  }
  HR_RETURN_IF_ERROR(context.ExpectRank(1, x.rank()));
  HR_RETURN_IF_ERROR(CheckChannels(context, x, w));
  HR_RETURN_IF_ERROR(CheckConvBias(context, w.dims[0]));
  std::vector<Dim> out = {x.dims[0], w.dims[0]};
  out.resize(x.dims.size());
  HR_ASSIGN_OR_RETURN(auto&& kernel, KernelShape(context, w));
  if (kernel) {
    Dims spatial;
    for (size_t i = 2; i < x.dims.size(); ++i) spatial.push_back(x.dims[i].size);
    auto window = ResolveWindow(context.node(), *kernel, spatial);
    if (!window.ok()) return std::move(window).status().WithContext("Conv");
    for (size_t i = 2; i < out.size(); ++i) out[i] = FixedDim((*window)[i - 2].output);
  }
  SetDims(context, 0, x.dtype, std::move(out));
  return {};
}

// Sums the gradient over everything but the channels.
ValueId BiasGradient(GradientContext& g) {
  std::vector<int64_t> axes = {0};
  for (size_t i = 2; i < g.Rank(g.grad(0)); ++i) axes.push_back(static_cast<int64_t>(i));
  return g.Emit("ReduceSum", {g.grad(0), g.Ints(axes)}, {{"keepdims", int64_t{0}}});
}

void ConvGradient(GradientContext& g) {
  ValueId dy = g.grad(0);
  if (g.wants(0)) g.SetGrad(0, g.EmitGradAlike("ConvGradInput", {dy, g.input(1), g.input(0)}));
  if (g.wants(1)) g.SetGrad(1, g.EmitGradAlike("ConvGradWeight", {dy, g.input(0), g.input(1)}));
  if (g.wants(2)) g.SetGrad(2, BiasGradient(g));
}

constexpr OpDef kForward = {.domain = kOnnx, .name = "Conv", .infer = InferConv};
Status InferConvGradInput(InferContext& context) {
  return InferGradientOf(context, kForward, {2, 1}, 2);
}
Status InferConvGradWeight(InferContext& context) {
  return InferGradientOf(context, kForward, {1, 2}, 2);
}

// Both are linear in each operand, so their gradients are the other two of the three.
ValueId EmitConv(GradientContext& g, ValueId x, ValueId w) {
  const std::vector<graph::Attribute> attributes = g.node().attributes;
  return g.EmitMany(kOnnx, "Conv", std::array{x, w}, 1, attributes)[0];
}

void ConvGradInputGradient(GradientContext& g) {
  const ValueId dy = g.grad(0);
  if (g.wants(0)) g.SetGrad(0, EmitConv(g, dy, g.input(1)));
  if (g.wants(1)) g.SetGrad(1, g.EmitGradAlike("ConvGradWeight", {g.input(0), dy, g.input(1)}));
}

void ConvGradWeightGradient(GradientContext& g) {
  const ValueId dw = g.grad(0);
  if (g.wants(0)) g.SetGrad(0, EmitConv(g, g.input(1), dw));
  if (g.wants(1)) g.SetGrad(1, g.EmitGradAlike("ConvGradInput", {g.input(0), dw, g.input(1)}));
}

constexpr OpDef kConvOps[] = {
    // (x [N, C, spatial…], w [M, C / group, kernel…], bias [M]?) → [N, M, spatial…]
    {.domain = kOnnx,
     .name = "Conv",
     .inputs = {2, 3},
     .attributes = kConvAttributes,
     .infer = InferConv,
     .gradient = ConvGradient},
    // (dy, w, x) → dx; of x only the type is used
    {.domain = kGrad,
     .name = "ConvGradInput",
     .inputs = {3, 3},
     .type_only_inputs = 1u << 2,
     .attributes = kConvAttributes,
     .infer = InferConvGradInput,
     .gradient = ConvGradInputGradient},
    // (dy, x, w) → dw; of w only the type is used
    {.domain = kGrad,
     .name = "ConvGradWeight",
     .inputs = {3, 3},
     .type_only_inputs = 1u << 2,
     .attributes = kConvAttributes,
     .infer = InferConvGradWeight,
     .gradient = ConvGradWeightGradient},
};

}  // namespace

OpFamily ConvOps() { return Chosen<kConvOps>(); }

}  // namespace hr::ops
