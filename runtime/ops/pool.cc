// Pooling over windows and over whole images.
#include <cmath>

#include "runtime/ops/builtin.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/infer_gradient.h"
#include "runtime/ops/reduction.h"
#include "runtime/ops/window.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kMaxPoolAttributes[] = {
    {"auto_pad", AttributeKind::kString}, {"ceil_mode", AttributeKind::kFlag},
    {"dilations", AttributeKind::kInts},  {"kernel_shape", AttributeKind::kInts, true},
    {"pads", AttributeKind::kInts},       {"storage_order", AttributeKind::kFlag},
    {"strides", AttributeKind::kInts},
};
constexpr AttributeDef kAveragePoolAttributes[] = {
    {"auto_pad", AttributeKind::kString},
    {"ceil_mode", AttributeKind::kFlag},
    {"count_include_pad", AttributeKind::kFlag},
    {"kernel_shape", AttributeKind::kInts, true},
    {"pads", AttributeKind::kInts},
    {"strides", AttributeKind::kInts},
    {"dilations", AttributeKind::kInts},
};
// Version 11 had no dilations.
constexpr std::span<const AttributeDef> kAveragePool11Attributes =
    std::span(kAveragePoolAttributes).first(6);

constexpr AttributeDef kLpPoolAttributes[] = {
    {"p", AttributeKind::kInt},
    {"auto_pad", AttributeKind::kString},
    {"kernel_shape", AttributeKind::kInts, true},
    {"pads", AttributeKind::kInts},
    {"strides", AttributeKind::kInts},
    {"ceil_mode", AttributeKind::kFlag},
    {"dilations", AttributeKind::kInts},
};
// Version 2 had neither ceil_mode nor dilations, and in version 1 p was real.
constexpr std::span<const AttributeDef> kLpPool2Attributes = std::span(kLpPoolAttributes).first(5);
constexpr AttributeDef kLpPoolGradAttributes[] = {
    {"p", AttributeKind::kFloat},
    {"auto_pad", AttributeKind::kString},
    {"kernel_shape", AttributeKind::kInts, true},
    {"pads", AttributeKind::kInts},
    {"strides", AttributeKind::kInts},
    {"ceil_mode", AttributeKind::kFlag},
    {"dilations", AttributeKind::kInts},
};
constexpr std::span<const AttributeDef> kLpPool1Attributes =
    std::span(kLpPoolGradAttributes).first(5);

Result<ValueType> PooledType(const InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectRankAtLeast(0, 3));
  const ValueType& x = context.input(0);
  if (!x.ranked) return x;
  auto kernel = context.node().Ints("kernel_shape");
  if (kernel.size() != x.dims.size() - 2) {
    return InvalidArgument(context.def().name, "'s attribute 'kernel_shape' wants ",
                           x.dims.size() - 2, " values for ", context.Text(x), ", got ", kernel);
  }
  Dims spatial;
  for (size_t i = 2; i < x.dims.size(); ++i) spatial.push_back(x.dims[i].size);
  auto window = ResolveWindow(context.node(), kernel, spatial);
  if (!window.ok()) return std::move(window).status().WithContext(context.def().name);
  ValueType out = x;
  for (size_t i = 2; i < out.dims.size(); ++i) out.dims[i] = FixedDim((*window)[i - 2].output);
  return out;
}

Status InferMaxPool(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectNumeric(0));
  HR_ASSIGN_OR_RETURN(auto&& out, PooledType(context));
  ValueType indices = out;
  indices.dtype = DType::kInt64;
  context.SetOutput(0, std::move(out));
  context.SetOutput(1, std::move(indices));
  return {};
}

Status InferAveragePool(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectFloating(0));
  HR_ASSIGN_OR_RETURN(auto&& out, PooledType(context));
  context.SetOutput(0, std::move(out));
  return {};
}

Status CheckNorm(const InferContext& context) {
  const double p = NormOf(context.node());
  if (p >= 1 && p < HUGE_VAL) return {};
  return InvalidArgument(context.def().name, "'s attribute 'p' is a number from 1 on, got ", p);
}

Status InferLpPool(InferContext& context) {
  HR_RETURN_IF_ERROR(CheckNorm(context));
  return InferAveragePool(context);
}

Status InferGlobalPool(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectFloating(0));
  HR_RETURN_IF_ERROR(context.ExpectRankAtLeast(0, 3));
  ValueType out = context.input(0);
  for (size_t i = 2; i < out.dims.size(); ++i) out.dims[i] = FixedDim(1);
  context.SetOutput(0, std::move(out));
  return {};
}

Status InferGlobalLpPool(InferContext& context) {
  HR_RETURN_IF_ERROR(CheckNorm(context));
  return InferGlobalPool(context);
}

// (dy, x, y?) → dx
template <Status (*kForward)(InferContext&)>
Status InferPoolGrad(InferContext& context) {
  HR_RETURN_IF_ERROR(InferGradientOf(
      context, {.domain = kOnnx, .name = context.def().name, .infer = kForward}, {1}, 1));
  return context.has_input(2) ? ExpectType(context, 2, context.input(0)) : Status();
}

void MaxPoolGradient(GradientContext& g) {
  if (g.grad(0) == kNone) return;
  g.SetGrad(0, g.EmitGradAlike("MaxPoolGrad", {g.grad(0), g.input(0), g.output(0)}));
}

void AveragePoolGradient(GradientContext& g) {
  g.SetGrad(0, g.EmitGradAlike("AveragePoolGrad", {g.grad(0), g.input(0)}));
}

void GlobalAveragePoolGradient(GradientContext& g) {
  g.SetGrad(0, SpreadMean(g, g.grad(0), g.input(0)));
}

void GlobalMaxPoolGradient(GradientContext& g) {
  g.SetGrad(0, SpreadToExtremes(g, g.grad(0), g.output(0), g.input(0)));
}

void LpPoolGradient(GradientContext& g) {
  const ValueId inputs[] = {g.grad(0), g.input(0), g.output(0)};
  std::vector<graph::Attribute> attributes = g.node().attributes;
  for (graph::Attribute& attribute : attributes) {
    if (attribute.name == "p") attribute.value = NormOf(g.node());
  }
  g.SetGrad(0, g.EmitMany(kGrad, "LpPoolGrad", inputs, 1, std::move(attributes))[0]);
}

// dy sign(x) (|x| / y)^(p - 1), and 0 where all is 0.
void GlobalLpPoolGradient(GradientContext& g) {
  const double p = NormOf(g.node());
  const ValueId x = g.input(0), y = g.output(0), zero = g.Scalar(0, y), one = g.Scalar(1, y);
  const ValueId size = g.Emit("Where", {g.Emit("Equal", {y, zero}), one, y});
  const ValueId part = g.Div(g.Emit("Abs", {x}), size);
  const ValueId slope = p == 1 ? one : g.Emit("Pow", {part, g.Scalar(p - 1, y)});
  g.SetGrad(0, g.Mul(g.grad(0), g.Mul(g.Emit("Sign", {x}), slope)));
}

constexpr OpDef kPoolOps[] = {
    // (x [N, C, spatial…]) → (y, indices?): indices count elements of the whole of x.
    {.domain = kOnnx,
     .name = "MaxPool",
     .since_version = 1,
     .outputs = {1, 2},
     .attributes = kMaxPoolAttributes,
     .infer = InferMaxPool,
     .gradient = MaxPoolGradient},
    // (dy, x, y) → dx: the first largest element of a window gets all of its gradient.
    {.domain = kGrad,
     .name = "MaxPoolGrad",
     .inputs = {3, 3},
     .attributes = kMaxPoolAttributes,
     .infer = InferPoolGrad<InferMaxPool>},
    {.domain = kOnnx,
     .name = "AveragePool",
     .since_version = 7,
     .attributes = kAveragePool11Attributes,
     .infer = InferAveragePool,
     .gradient = AveragePoolGradient},
    {.domain = kOnnx,
     .name = "AveragePool",
     .since_version = 19,
     .attributes = kAveragePoolAttributes,
     .infer = InferAveragePool,
     .gradient = AveragePoolGradient},
    // (dy, x) → dx; of x only the type is used
    {.domain = kGrad,
     .name = "AveragePoolGrad",
     .inputs = {2, 2},
     .type_only_inputs = 1u << 1,
     .attributes = kAveragePoolAttributes,
     .infer = InferPoolGrad<InferAveragePool>},
    // (x [N, C, spatial…]): the p-norm of each window
    {.domain = kOnnx,
     .name = "LpPool",
     .since_version = 1,
     .attributes = kLpPool1Attributes,
     .infer = InferLpPool,
     .gradient = LpPoolGradient},
    {.domain = kOnnx,
     .name = "LpPool",
     .since_version = 2,
     .attributes = kLpPool2Attributes,
     .infer = InferLpPool,
     .gradient = LpPoolGradient},
    {.domain = kOnnx,
     .name = "LpPool",
     .since_version = 18,
     .attributes = kLpPoolAttributes,
     .infer = InferLpPool,
     .gradient = LpPoolGradient},
    // (dy, x, y) → dx
    {.domain = kGrad,
     .name = "LpPoolGrad",
     .inputs = {3, 3},
     .attributes = kLpPoolGradAttributes,
     .infer = InferPoolGrad<InferLpPool>},
    {.domain = kOnnx,
     .name = "GlobalLpPool",
     .since_version = 1,
     .attributes = kLpPool1Attributes.first(1),
     .infer = InferGlobalLpPool,
     .gradient = GlobalLpPoolGradient},
    {.domain = kOnnx,
     .name = "GlobalLpPool",
     .since_version = 2,
     .attributes = std::span(kLpPoolAttributes).first(1),
     .infer = InferGlobalLpPool,
     .gradient = GlobalLpPoolGradient},
    {.domain = kOnnx,
     .name = "GlobalAveragePool",
     .infer = InferGlobalPool,
     .gradient = GlobalAveragePoolGradient},
    {.domain = kOnnx,
     .name = "GlobalMaxPool",
     .infer = InferGlobalPool,
     .gradient = GlobalMaxPoolGradient},
};

}  // namespace

OpFamily PoolOps() { return Chosen<kPoolOps>(); }

}  // namespace hr::ops
