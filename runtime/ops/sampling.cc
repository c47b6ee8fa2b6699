// Images read at points that are computed: gathered elements times weights, so that gradients reach
// the image and the points.
#include "runtime/ops/sampling.h"

#include <array>

#include "runtime/ops/builtin.h"
#include "runtime/ops/compose.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kGridAttributes[] = {{"align_corners", AttributeKind::kFlag},
                                            {"mode", AttributeKind::kString},
                                            {"padding_mode", AttributeKind::kString}};
constexpr AttributeDef kAlign[] = {{"align_corners", AttributeKind::kFlag}};

enum class Mode : uint8_t { kNearest, kLinear, kCubic };
enum class Padding : uint8_t { kZeros, kBorder, kReflection };

// Nothing for other words. Version 16 says bilinear and bicubic.
std::optional<Mode> ModeOf(const Node& node) {
  const std::string_view mode = node.String("mode", "linear");
  if (mode == "nearest") return Mode::kNearest;
  if (mode == "linear" || mode == "bilinear") return Mode::kLinear;
  if (mode == "cubic" || mode == "bicubic") return Mode::kCubic;
  return std::nullopt;
}
std::optional<Padding> PaddingOf(const Node& node) {
  const std::string_view padding = node.String("padding_mode", "zeros");
  if (padding == "zeros") return Padding::kZeros;
  if (padding == "border") return Padding::kBorder;
  if (padding == "reflection") return Padding::kReflection;
  return std::nullopt;
}

// (x [N, C, spatial…], grid [N, points…, axes]) → [N, C, points…]
Status InferGridSample(InferContext& context) {
  const Node& node = context.node();
  if (!ModeOf(node)) {
    return InvalidArgument("GridSample's 'mode' is nearest, linear or cubic, got '",
                           node.String("mode", ""), "'");
  }
  if (!PaddingOf(node)) {
    return InvalidArgument("GridSample's 'padding_mode' is zeros, border or reflection, got '",
                           node.String("padding_mode", ""), "'");
  }
  HR_RETURN_IF_ERROR(context.ExpectNumeric(0));
  HR_RETURN_IF_ERROR(context.ExpectFloating(1));
  HR_RETURN_IF_ERROR(context.ExpectRankAtLeast(0, 3));
  const ValueType &x = context.input(0), &grid = context.input(1);
  if (!x.ranked || !grid.ranked) {
    context.SetUnranked(0, x.dtype);
    return {};
  }
  HR_RETURN_IF_ERROR(context.ExpectRank(1, x.rank()));
  const Dim axes = FixedDim(x.rank() - 2);
  HR_RETURN_IF_ERROR(
      EqualDims(context, "the spatial axes and the grid's last axis", axes, grid.dims.back())
          .status());
  HR_ASSIGN_OR_RETURN(const Dim batch,
                      EqualDims(context, "the images and grids", x.dims[0], grid.dims[0]));
  std::vector<Dim> dims = {batch, x.dims[1]};
  dims.insert(dims.end(), grid.dims.begin() + 1, grid.dims.end() - 1);
  SetDims(context, 0, x.dtype, std::move(dims));
  return {};
}

// -1 to 1 as positions of elements.
ValueId Position(ComposeContext& c, ValueId grid, ValueId size, bool align) {
  const ValueId one = c.Scalar(1, grid);
  const ValueId up = c.Add(grid, one);
  if (align) return c.Scale(c.Mul(up, c.Sub(size, one)), 0.5);
  return c.Scale(c.Sub(c.Mul(up, size), one), 0.5);
}

// Folded back and forth between the borders: those of the elements' middles if `align`, else of
// their outer edges.
ValueId Reflected(ComposeContext& c, ValueId x, ValueId size, bool align) {
  const double edge = align ? 0 : -0.5;
  const ValueId least = c.Scalar(edge, x), one = c.Scalar(1, x);
  const ValueId width = c.Emit("Max", {align ? c.Sub(size, one) : size, one});
  const ValueId period = c.Scale(width, 2);
  const ValueId far = c.Emit("Abs", {c.Sub(x, least)});
  const ValueId turns = c.Emit("Floor", {c.Div(far, period)});
  const ValueId rest = c.Sub(far, c.Mul(turns, period));
  const ValueId folded = c.Emit("Min", {rest, c.Sub(period, rest)});
  return c.Add(folded, least);
}

ValueId Clamped(ComposeContext& c, ValueId x, ValueId size) {
  const ValueId least = c.Emit("Max", {x, c.Scalar(0, x)});
  return c.Emit("Min", {least, c.Sub(size, c.Scalar(1, x))});
}

// An element of an axis that a point reads, and how much of it; kNone: all.
struct Tap {
  ValueId index, weight;
};

// Keys' cubic with a = -0.75 at a distance of up to 1, and from 1 to 2.
ValueId NearCubic(ComposeContext& c, ValueId t) {
  const ValueId square = c.Mul(t, t);
  return c.Add(c.Mul(square, c.Sub(c.Scale(t, 1.25), c.Scalar(2.25, t))), c.Scalar(1, t));
}
ValueId FarCubic(ComposeContext& c, ValueId t) {
  const ValueId a = c.Sub(c.Scale(t, -0.75), c.Scalar(-3.75, t));
  const ValueId b = c.Sub(c.Mul(a, t), c.Scalar(6, t));
  return c.Add(c.Mul(b, t), c.Scalar(3, t));
}

std::vector<Tap> TapsOf(ComposeContext& c, ValueId x, Mode mode) {
  if (mode == Mode::kNearest) return {{c.Emit("Round", {x}), kNone}};
  const ValueId first = c.Emit("Floor", {x});
  const ValueId one = c.Scalar(1, x), f = c.Sub(x, first), g = c.Sub(one, f);
  const ValueId second = c.Add(first, one);
  if (mode == Mode::kLinear) return {{first, g}, {second, f}};
  return {{c.Sub(first, one), FarCubic(c, c.Add(f, one))},
          {first, NearCubic(c, f)},
          {second, NearCubic(c, g)},
          {c.Add(second, one), FarCubic(c, c.Add(g, one))}};
}

// The tap inside the image; one of zeros has the weight 0.
Tap Inside(ComposeContext& c, Tap tap, ValueId size, Padding padding, bool align) {
  const ValueId at = tap.index;
  if (padding == Padding::kReflection) tap.index = c.Emit("Round", {Reflected(c, at, size, align)});
  tap.index = Clamped(c, tap.index, size);
  if (padding != Padding::kZeros) return tap;
  const ValueId inside = c.CastLike(c.Emit("Equal", {tap.index, at}), at);
  tap.weight = tap.weight == kNone ? inside : c.Mul(tap.weight, inside);
  return tap;
}

// The taps of one axis for all points of a grid.
std::vector<Tap> GridTaps(ComposeContext& c, ValueId grid, size_t axis, size_t axes) {
  const Mode mode = *ModeOf(c.node());
  const Padding padding = *PaddingOf(c.node());
  const bool align = c.node().Int("align_corners", 0) != 0;
  // The grid begins with the last axis.
  const auto place = static_cast<int64_t>(axes - 1 - axis);
  const ValueId part = c.Slice(grid, -1, c.Int(place), c.Int(place + 1));
  const ValueId size = c.CastLike(c.DimOf(c.input(0), axis + 2), grid);
  ValueId x = Position(c, c.Emit("Squeeze", {part, c.Int(-1)}), size, align);
  // A cubic's neighbours are folded one by one.
  if (mode == Mode::kNearest) x = c.Emit("Round", {x});
  if (mode != Mode::kCubic && padding == Padding::kBorder) x = Clamped(c, x, size);
  if (mode != Mode::kCubic && padding == Padding::kReflection) {
    x = Clamped(c, Reflected(c, x, size, align), size);
  }
  std::vector<Tap> taps = TapsOf(c, x, mode);
  for (Tap& tap : taps) tap = Inside(c, tap, size, padding, align);
  return taps;
}

// The taps of all axes together: the places of elements in an image, and products of weights.
std::vector<Tap> Joined(ComposeContext& c, ValueId x, std::span<const std::vector<Tap>> by_axis) {
  std::vector<Tap> taps = {{kNone, kNone}};
  for (size_t axis = 0; axis < by_axis.size(); ++axis) {
    std::vector<Tap> joined;
    for (const Tap& before : taps) {
      for (const Tap& tap : by_axis[axis]) {
        const ValueId size = c.CastLike(c.DimOf(x, axis + 2), tap.index);
        const ValueId index =
            before.index == kNone ? tap.index : c.Add(c.Mul(before.index, size), tap.index);
        const ValueId weight = before.weight == kNone ? tap.weight
                               : tap.weight == kNone  ? before.weight
                                                      : c.Mul(before.weight, tap.weight);
        joined.push_back({index, weight});
      }
    }
    taps = std::move(joined);
  }
  return taps;
}

// What the taps [N, points] of x's axes read: [N, C, points].
ValueId Read(ComposeContext& c, ValueId x, std::span<const std::vector<Tap>> by_axis) {
  const ValueId flat[] = {c.Int(0), c.Int(0), c.Int(-1)};
  const ValueId images = c.Transpose(c.Reshape(x, flat), {0, 2, 1});  // [N, elements, C]
  const ValueId begins = c.Mul(c.Counted(c.DimOf(x, 0)), c.DimOf(images, 1));
  const ValueId all[] = {c.Int(-1), c.DimOf(x, 1)};
  const ValueId elements = c.Reshape(images, all);
  ValueId sum = kNone;
  for (const Tap& tap : Joined(c, x, by_axis)) {
    const ValueId index = c.Add(c.Cast(tap.index, DType::kInt64), c.Unsqueeze(begins, 1));
    ValueId value = c.Emit("Gather", {elements, index});
    if (tap.weight != kNone) value = c.Mul(value, c.Unsqueeze(c.CastLike(tap.weight, x), -1));
    sum = sum == kNone ? value : c.Add(sum, value);
  }
  return c.Transpose(sum, {0, 2, 1});
}

void ComposeGridSample(ComposeContext& c) {
  const ValueId x = c.input(0);
  const size_t rank = c.Rank(x), axes = rank - 2;
  if (!c.ok()) return;
  const ValueId points[] = {c.DimOf(x, 0), c.Int(-1), c.Int(static_cast<int64_t>(axes))};
  const ValueId grid = c.Reshape(c.input(1), points);  // [N, points, axes]
  std::vector<std::vector<Tap>> taps;
  for (size_t axis = 0; axis < axes; ++axis) taps.push_back(GridTaps(c, grid, axis, axes));
  std::vector<ValueId> sizes = {c.DimOf(x, 0), c.DimOf(x, 1)};
  for (size_t i = 1; i + 1 < rank; ++i) sizes.push_back(c.DimOf(c.input(1), i));
  c.SetOutput(0, c.Reshape(Read(c, x, taps), sizes));
}

// (theta [N, axes, axes + 1], size [N, C, spatial…]) → [N, spatial…, axes]
Status InferAffineGrid(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectFloating(0));
  HR_RETURN_IF_ERROR(context.ExpectRank(0, 3));
  HR_RETURN_IF_ERROR(context.ExpectInts(1));
  const ValueType& theta = context.input(0);
  const auto sizes = DimsFromShapeInput(context, 1);
  if (!sizes) {
    context.SetUnranked(0, theta.dtype);
    return {};
  }
  if (sizes->size() != 4 && sizes->size() != 5) {
    return InvalidArgument("AffineGrid's size is [N, C, H, W] or [N, C, D, H, W], got ",
                           sizes->size(), " numbers");
  }
  const auto axes = static_cast<int64_t>(sizes->size()) - 2;
  if (theta.ranked) {
    HR_RETURN_IF_ERROR(
        EqualDims(context, "the axes and the rows of theta", FixedDim(axes), theta.dims[1])
            .status());
    HR_RETURN_IF_ERROR(
        EqualDims(context, "the axes + 1 and theta's columns", FixedDim(axes + 1), theta.dims[2])
            .status());
  }
  std::vector<Dim> dims = {(*sizes)[0]};
  dims.insert(dims.end(), sizes->begin() + 2, sizes->end());
  dims.push_back(FixedDim(axes));
  SetDims(context, 0, theta.dtype, std::move(dims));
  return {};
}

// -1 to 1 along an axis, at the middles of elements; or from end to end if `align`.
ValueId Coordinates(ComposeContext& c, ValueId size, ValueId like, bool align) {
  const ValueId one = c.Scalar(1, like), k = c.CastLike(c.Counted(size), like);
  const ValueId n = c.CastLike(size, like);
  if (align) {
    const ValueId steps = c.Emit("Max", {c.Sub(n, one), one});
    return c.Sub(c.Div(c.Scale(k, 2), steps), one);
  }
  return c.Sub(c.Div(c.Add(c.Scale(k, 2), one), n), one);
}

void ComposeAffineGrid(ComposeContext& c) {
  const ValueId theta = c.input(0), size = c.input(1);
  if (!c.ok()) return;
  const Dim length = c.type(size).ranked ? c.type(size).dims[0] : Dim();
  if (!length.fixed()) return c.Fail(FailedPrecondition("needs to know the number of axes"));
  const int64_t axes = length.size - 2;
  const bool align = c.node().Int("align_corners", 0) != 0;
  const ValueId spatial = c.Slice(size, 0, c.Int(2), c.Int(INT64_MAX));
  std::vector<ValueId> columns;
  for (int64_t axis = axes - 1; axis >= 0; --axis) {
    const ValueId n = c.Slice(size, 0, c.Int(axis + 2), c.Int(axis + 3));
    ValueId line = Coordinates(c, n, theta, align);
    std::vector<int64_t> behind;
    for (int64_t i = axis + 1; i < axes; ++i) behind.push_back(i - axis);
    if (!behind.empty()) line = c.Emit("Unsqueeze", {line, c.Ints(behind)});
    columns.push_back(c.Unsqueeze(c.Emit("Expand", {line, spatial}), -1));
  }
  const ValueId ones = c.Emit("Expand", {c.Scalar(1, theta), spatial});
  columns.push_back(c.Unsqueeze(ones, -1));
  const ValueId flat[] = {c.Int(-1), c.Int(axes + 1)};
  const ValueId points = c.Reshape(c.Concat(columns, -1), flat);
  const ValueId grid = c.Emit("MatMul", {points, c.Transpose(theta, {0, 2, 1})});
  const ValueId sizes[] = {c.Slice(size, 0, c.Int(0), c.Int(1)), spatial, c.Int(axes)};
  c.SetOutput(0, c.Reshape(grid, sizes));
}

constexpr OpDef kSamplingOps[] = {
    {.domain = kOnnx,
     .name = "GridSample",
     .since_version = 16,
     .inputs = {2, 2},
     .attributes = kGridAttributes,
     .infer = InferGridSample,
     .compose = ComposeGridSample},
    {.domain = kOnnx,
     .name = "AffineGrid",
     .since_version = 20,
     .inputs = {2, 2},
     .attributes = kAlign,
     .infer = InferAffineGrid,
     .compose = ComposeAffineGrid},
};

}  // namespace

ValueId SampleLinear(ComposeContext& c, ValueId images, std::span<const ValueId> positions) {
  std::vector<std::vector<Tap>> taps;
  for (size_t axis = 0; axis < positions.size(); ++axis) {
    const ValueId size = c.CastLike(c.DimOf(images, axis + 2), positions[axis]);
    taps.push_back(TapsOf(c, positions[axis], Mode::kLinear));
    for (Tap& tap : taps.back()) tap = Inside(c, tap, size, Padding::kZeros, false);
  }
  return Read(c, images, taps);
}

OpFamily SamplingOps() { return Chosen<kSamplingOps>(); }

}  // namespace hr::ops
