// Images of another size, and what older operator sets called so.
#include "runtime/ops/resize.h"

#include <array>

#include "runtime/ops/builtin.h"
#include "runtime/ops/compose.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/infer_gradient.h"

namespace hr::ops {
namespace {

constexpr char kResizeGrad[] = "ResizeGrad";

constexpr AttributeDef kResizeAttributes[] = {
    {"antialias", AttributeKind::kFlag},
    {"axes", AttributeKind::kInts},
    {"coordinate_transformation_mode", AttributeKind::kString},
    {"cubic_coeff_a", AttributeKind::kFloat},
    {"exclude_outside", AttributeKind::kFlag},
    {"extrapolation_value", AttributeKind::kFloat},
    {"keep_aspect_ratio_policy", AttributeKind::kString},
    {"mode", AttributeKind::kString},
    {"nearest_mode", AttributeKind::kString},
};
constexpr AttributeDef kMode[] = {{"mode", AttributeKind::kString}};

Status CheckWord(Literal attribute, std::string_view value,
                 std::initializer_list<std::string_view> words) {
  if (std::find(words.begin(), words.end(), value) != words.end()) return {};
  std::string list;
  for (std::string_view word : words) list += Cat(list.empty() ? "" : ", ", word);
  return InvalidArgument("Resize's '", std::string_view(attribute), "' is one of ", list, "; got '",
                         value, "'");
}

Status CheckWords(const Node& node) {
  HR_RETURN_IF_ERROR(
      CheckWord("mode", node.String("mode", "nearest"), {"nearest", "linear", "cubic"}));
  HR_RETURN_IF_ERROR(CheckWord(
      "coordinate_transformation_mode", node.String("coordinate_transformation_mode", "half_pixel"),
      {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
       "tf_half_pixel_for_nn", "tf_crop_and_resize"}));
  HR_RETURN_IF_ERROR(CheckWord("nearest_mode", node.String("nearest_mode", "round_prefer_floor"),
                               {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
  return CheckWord("keep_aspect_ratio_policy", node.String("keep_aspect_ratio_policy", "stretch"),
                   {"stretch", "not_larger", "not_smaller"});
}

// Scales without elements stand for none, as in version 11.
bool Given(const InferContext& context, size_t i) {
  if (!context.has_input(i)) return false;
  const ValueType& type = context.input(i);
  return !(type.ranked && type.rank() == 1 && type.dims[0].fixed() && type.dims[0].size == 0);
}

Status InferResize(InferContext& context) {
  HR_RETURN_IF_ERROR(CheckWords(context.node()));
  const ValueType& x = context.input(0);
  if (context.node().String("mode", "nearest") != "nearest") {
    HR_RETURN_IF_ERROR(context.ExpectNumeric(0));
  }
  const bool by_scales = Given(context, 2), by_sizes = Given(context, 3);
  if (by_scales == by_sizes) return InvalidArgument("Resize takes either 'scales' or 'sizes'");
  ValueType type = x;
  const std::optional<Dims> dims = x.FixedDims();
  const size_t decides = by_sizes ? 3 : 2;
  if (by_sizes) HR_RETURN_IF_ERROR(context.ExpectInts(3));
  const Tensor* region = context.has_input(1) ? context.constant(1) : nullptr;
  const bool crops =
      context.node().String("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
  if (crops && !context.has_input(1)) {
    return InvalidArgument("Resize's tf_crop_and_resize needs its input 1, 'roi'");
  }
  if (!dims || context.constant(decides) == nullptr || (crops && region == nullptr)) {
    for (Dim& dim : type.dims) dim = Dim();
    context.SetOutput(0, std::move(type));
    return {};
  }
  ResizeInputs inputs = {.region = region};
  (by_sizes ? inputs.sizes : inputs.scales) = context.constant(decides);
  auto axes = ResizedAxes(context.node(), *dims, inputs);
  if (!axes.ok()) return std::move(axes).status().WithContext("Resize");
  for (const ResizedAxis& axis : *axes) type.dims[axis.axis] = FixedDim(axis.out);
  context.SetOutput(0, std::move(type));
  return {};
}

void ResizeGradient(GradientContext& g) {
  g.SetGrad(
      0, g.EmitGradAlike(kResizeGrad, {g.grad(0), g.input(0), g.input(1), g.input(2), g.input(3)}));
}

// (x, scales): asymmetric coordinates, rounded down.
Status InferResize10(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectDType(1, {DType::kFloat32}));
  HR_RETURN_IF_ERROR(context.ExpectRank(1, 1));
  ValueType type = context.input(0);
  if (type.ranked && context.input(1).ranked) {
    HR_RETURN_IF_ERROR(EqualDims(context, "the rank of input 0 and the number of its scales",
                                 FixedDim(type.rank()), context.input(1).dims[0])
                           .status());
  }
  for (Dim& dim : type.dims) dim = Dim();
  const std::optional<Dims> dims = context.input(0).FixedDims();
  if (dims && context.constant(1) != nullptr) {
    auto axes = ResizedAxes(context.node(), *dims, {.scales = context.constant(1)});
    if (!axes.ok()) return std::move(axes).status().WithContext(context.def().name);
    type = context.input(0);
    for (const ResizedAxis& axis : *axes) type.dims[axis.axis] = FixedDim(axis.out);
  }
  context.SetOutput(0, std::move(type));
  return {};
}

void ComposeResize10(ComposeContext& c) {
  const ValueId inputs[] = {c.input(0), kNone, c.input(1)};
  const std::string mode(c.node().String("mode", "nearest"));
  c.SetOutput(0, c.EmitMany(kOnnx, "Resize", inputs, 1,
                            graph::Attributes({{"mode", std::string_view(mode)},
                                               {"coordinate_transformation_mode", "asymmetric"},
                                               {"nearest_mode", "floor"}}))[0]);
}

Status InferResizeGrad(InferContext& context) {
  return InferGradientOf(context, {.domain = kOnnx, .name = "Resize", .infer = InferResize},
                         {1, 2, 3, 4}, 1);
}

constexpr OpDef Older(Literal name, int version) {
  return {.domain = kOnnx,
          .name = name,
          .since_version = version,
          .inputs = {2, 2},
          .attributes = kMode,
          .infer = InferResize10,
          .compose = ComposeResize10};
}

constexpr OpDef kResizeOps[] = {
    Older("Upsample", 9),
    Older("Resize", 10),
    // (x, region?, scales?, sizes?)
    {.domain = kOnnx,
     .name = "Resize",
     .since_version = 11,
     .inputs = {1, 4},
     .attributes = kResizeAttributes,
     .infer = InferResize,
     .gradient = ResizeGradient},
    // (dy, x, region?, scales?, sizes?) → dx; of x only the type is used
    {.domain = kGrad,
     .name = kResizeGrad,
     .inputs = {2, 5},
     .type_only_inputs = 1u << 1,
     .attributes = kResizeAttributes,
     .infer = InferResizeGrad},
};

}  // namespace

OpFamily ResizeOps() { return Chosen<kResizeOps>(); }

}  // namespace hr::ops
