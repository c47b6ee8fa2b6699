// Pooling over regions of images.
#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/ops/builtin.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/infer_gradient.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kAlignAttributes[] = {
    {"mode", AttributeKind::kString},
    {"output_height", AttributeKind::kInt},
    {"output_width", AttributeKind::kInt},
    {"sampling_ratio", AttributeKind::kInt},
    {"spatial_scale", AttributeKind::kFloat},
    {"coordinate_transformation_mode", AttributeKind::kString},
};
constexpr AttributeDef kPoolAttributes[] = {{"pooled_shape", AttributeKind::kInts, true},
                                            {"spatial_scale", AttributeKind::kFloat}};

// Bins beyond this along an axis are mistakes.
constexpr int64_t kMostBins = int64_t{1} << 24;

Status CheckRegionScale(const InferContext& context) {
  const double scale = context.node().Float("spatial_scale", 1);
  if (scale > 0 && scale < HUGE_VAL) return {};
  return InvalidArgument(context.def().name, "'s 'spatial_scale' is above 0, got ", scale);
}

// Output 0: a result for each region, of these bins. Regions have `numbers` numbers.
Status SetResults(InferContext& context, std::array<int64_t, 2> bins, int64_t numbers) {
  HR_RETURN_IF_ERROR(context.ExpectFloating(0));
  HR_RETURN_IF_ERROR(context.ExpectSameDType(0, 1));
  HR_RETURN_IF_ERROR(context.ExpectRank(0, 4));
  HR_RETURN_IF_ERROR(context.ExpectRank(1, 2));
  HR_RETURN_IF_ERROR(CheckRegionScale(context));
  for (int64_t size : bins) {
    if (size >= 1 && size <= kMostBins) continue;
    return InvalidArgument(context.def().name, " wants from 1 to ", kMostBins,
                           " bins along each axis, got ", bins[0], " and ", bins[1]);
  }
  const ValueType &x = context.input(0), &regions = context.input(1);
  std::vector<Dim> dims = {Dim(), Dim(), FixedDim(bins[0]), FixedDim(bins[1])};
  if (regions.ranked) {
    HR_RETURN_IF_ERROR(
        EqualDims(context, "the numbers of a region", FixedDim(numbers), regions.dims[1]).status());
    dims[0] = regions.dims[0];
  }
  if (x.ranked) dims[1] = x.dims[1];
  SetDims(context, 0, x.dtype, std::move(dims));
  return {};
}

Status CheckWord(const InferContext& context, Literal attribute, Literal otherwise,
                 std::initializer_list<std::string_view> words) {
  const std::string_view word = context.node().String(attribute, otherwise);
  if (std::find(words.begin(), words.end(), word) != words.end()) return {};
  return InvalidArgument(context.def().name, "'s '", std::string_view(attribute), "' is ",
                         words.begin()[0], " or ", words.begin()[1], ", got '", word, "'");
}

// (x [N, C, H, W], regions [R, 4], image of each [R]) → [R, C, output_height, output_width]
Status InferRoiAlign(InferContext& context) {
  const Node& node = context.node();
  HR_RETURN_IF_ERROR(CheckWord(context, "mode", "avg", {"avg", "max"}));
  HR_RETURN_IF_ERROR(CheckWord(context, "coordinate_transformation_mode", "half_pixel",
                               {"half_pixel", "output_half_pixel"}));
  const int64_t sampling = node.Int("sampling_ratio", 0);
  if (sampling < 0 || sampling > 4096) {
    return InvalidArgument("RoiAlign's 'sampling_ratio' is from 0 to 4096, got ", sampling);
  }
  HR_RETURN_IF_ERROR(context.ExpectDType(2, {DType::kInt64}));
  HR_RETURN_IF_ERROR(context.ExpectRank(2, 1));
  if (context.input(1).ranked && context.input(2).ranked && context.input(1).rank() == 2) {
    HR_RETURN_IF_ERROR(EqualDims(context, "regions and images of regions", context.input(1).dims[0],
                                 context.input(2).dims[0])
                           .status());
  }
  return SetResults(context, {node.Int("output_height", 1), node.Int("output_width", 1)}, 4);
}

// (x [N, C, H, W], regions [R, 5]) → [R, C, pooled_shape]
Status InferMaxRoiPool(InferContext& context) {
  const auto pooled = context.node().Ints("pooled_shape");
  if (pooled.size() == 2) return SetResults(context, {pooled[0], pooled[1]}, 5);
  return InvalidArgument("MaxRoiPool's 'pooled_shape' wants two numbers, got ", pooled);
}

Status InferRoiAlignGrad(InferContext& context) {
  return InferGradientOf(context, {.domain = kOnnx, .name = "RoiAlign", .infer = InferRoiAlign},
                         {1, 2, 3}, 1);
}
Status InferMaxRoiPoolGrad(InferContext& context) {
  return InferGradientOf(context, {.domain = kOnnx, .name = "MaxRoiPool", .infer = InferMaxRoiPool},
                         {1, 2}, 1);
}

// Where regions lie is not learned: their derivative jumps with the elements that they meet.
bool WantsRegions(GradientContext& g) {
  if (!g.wants(1)) return false;
  g.Fail(Unimplemented(g.def().name, " has no gradient for its regions, only for its images"));
  return true;
}

void RoiAlignGradientRule(GradientContext& g) {
  if (WantsRegions(g)) return;
  std::vector<graph::Attribute> attributes = g.node().attributes;
  // Version 10 had elements at their corners, and no word for it.
  if (g.def().since_version < 16) {
    graph::Append(&attributes,
                  {"coordinate_transformation_mode", std::string_view("output_half_pixel")});
  }
  const ValueId inputs[] = {g.grad(0), g.input(0), g.input(1), g.input(2)};
  g.SetGrad(0, g.EmitMany(kGrad, "RoiAlignGrad", inputs, 1, std::move(attributes))[0]);
}

void MaxRoiPoolGradientRule(GradientContext& g) {
  if (WantsRegions(g)) return;
  g.SetGrad(0, g.EmitGradAlike("MaxRoiPoolGrad", {g.grad(0), g.input(0), g.input(1)}));
}

constexpr OpDef kRegionOps[] = {
    {.domain = kOnnx,
     .name = "RoiAlign",
     .since_version = 10,
     .inputs = {3, 3},
     .attributes = std::span(kAlignAttributes).first(5),
     .infer = InferRoiAlign,
     .gradient = RoiAlignGradientRule},
    {.domain = kOnnx,
     .name = "RoiAlign",
     .since_version = 16,
     .inputs = {3, 3},
     .attributes = kAlignAttributes,
     .infer = InferRoiAlign,
     .gradient = RoiAlignGradientRule},
    // (dy, x, regions, images) → dx
    {.domain = kGrad,
     .name = "RoiAlignGrad",
     .inputs = {4, 4},
     .attributes = kAlignAttributes,
     .infer = InferRoiAlignGrad},
    {.domain = kOnnx,
     .name = "MaxRoiPool",
     .inputs = {2, 2},
     .attributes = kPoolAttributes,
     .infer = InferMaxRoiPool,
     .gradient = MaxRoiPoolGradientRule},
    // (dy, x, regions) → dx
    {.domain = kGrad,
     .name = "MaxRoiPoolGrad",
     .inputs = {3, 3},
     .attributes = kPoolAttributes,
     .infer = InferMaxRoiPoolGrad},
};

}  // namespace

OpFamily RegionOps() { return Chosen<kRegionOps>(); }

}  // namespace hr::ops
