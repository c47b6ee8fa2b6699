// Operators that move elements by reshaping, transposing and slicing, or mark some of them.
#include <numeric>

#include "runtime/ops/builtin.h"
#include "runtime/ops/compose.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kDepthAttributes[] = {{"blocksize", AttributeKind::kInt, true},
                                             {"mode", AttributeKind::kString}};
constexpr AttributeDef kMovedAxis[] = {{"axis", AttributeKind::kInt}};
constexpr AttributeDef kMovedAxes[] = {{"axes", AttributeKind::kInts}};

// A dimension that is divided; unknown if it is not known.
Result<Dim> Divided(const InferContext& context, Dim dim, int64_t by) {
  if (!dim.fixed()) return Dim();
  if (dim.size % by == 0) return FixedDim(dim.size / by);
  return InvalidArgument(context.def().name, " divides ", context.InputText(0), " by ", by,
                         ", which does not divide ", dim.size);
}

Result<Dim> Multiplied(const InferContext& context, Dim dim, int64_t by) {
  return Product(context, std::array{dim, FixedDim(by)});
}

Result<int64_t> BlockOf(const InferContext& context) {
  const int64_t block = context.node().Int("blocksize", 0);
  if (block >= 1 && block < (int64_t{1} << 31)) return block;
  return InvalidArgument(context.def().name, "'s 'blocksize' is 1 or more, got ", block);
}

Status InferDepthToSpace(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectRank(0, 4));
  HR_ASSIGN_OR_RETURN(const int64_t block, BlockOf(context));
  if (!IsOneOf(context.node().String("mode", "DCR"), {"DCR", "CRD"})) {
    return InvalidArgument("DepthToSpace's 'mode' is DCR or CRD, got '",
                           context.node().String("mode", ""), "'");
  }
  ValueType type = context.input(0);
  if (type.ranked) {
    HR_ASSIGN_OR_RETURN(type.dims[1], Divided(context, type.dims[1], block * block));
    for (size_t i : {2, 3}) {
      HR_ASSIGN_OR_RETURN(type.dims[i], Multiplied(context, type.dims[i], block));
    }
  }
  context.SetOutput(0, std::move(type));
  return {};
}

Status InferSpaceToDepth(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectRank(0, 4));
  HR_ASSIGN_OR_RETURN(const int64_t block, BlockOf(context));
  ValueType type = context.input(0);
  if (type.ranked) {
    HR_ASSIGN_OR_RETURN(type.dims[1], Multiplied(context, type.dims[1], block * block));
    for (size_t i : {2, 3}) {
      HR_ASSIGN_OR_RETURN(type.dims[i], Divided(context, type.dims[i], block));
    }
  }
  context.SetOutput(0, std::move(type));
  return {};
}

// The elements are those of both shapes: one size of the second is what is left (-1).
void ComposeDepthToSpace(ComposeContext& c) {
  const ValueId x = c.input(0);
  if (c.Rank(x) != 4) return;
  const ValueId block = c.Int(c.node().Int("blocksize", 1)), rest = c.Int(-1);
  const ValueId n = c.DimOf(x, 0), h = c.DimOf(x, 2), w = c.DimOf(x, 3);
  const bool depth_first = c.node().String("mode", "DCR") == "DCR";
  const ValueId split = depth_first ? c.Reshape(x, std::array{n, block, block, rest, h, w})
                                    : c.Reshape(x, std::array{n, rest, block, block, h, w});
  const ValueId moved =
      depth_first ? c.Transpose(split, {0, 3, 4, 1, 5, 2}) : c.Transpose(split, {0, 1, 4, 2, 5, 3});
  c.SetOutput(0, c.Reshape(moved, std::array{n, rest, c.Mul(h, block), c.Mul(w, block)}));
}

void ComposeSpaceToDepth(ComposeContext& c) {
  const ValueId x = c.input(0);
  if (c.Rank(x) != 4) return;
  const ValueId block = c.Int(c.node().Int("blocksize", 1)), rest = c.Int(-1);
  const ValueId n = c.DimOf(x, 0), channels = c.DimOf(x, 1);
  const ValueId h = c.Div(c.DimOf(x, 2), block), w = c.Div(c.DimOf(x, 3), block);
  const ValueId split = c.Reshape(x, std::array{n, channels, h, block, w, block});
  const ValueId moved = c.Transpose(split, {0, 3, 5, 1, 2, 4});
  c.SetOutput(0, c.Reshape(moved, std::array{n, rest, h, w}));
}

// The first largest element of each line becomes 1, all others 0.
void ComposeHardmax(ComposeContext& c) {
  const ValueId x = c.input(0);
  const size_t axis = c.Axis(c.node().Int("axis", -1), c.Rank(x));
  const auto signed_axis = static_cast<int64_t>(axis);
  const ValueId largest = c.Emit("ArgMax", {x}, {{"axis", signed_axis}, {"keepdims", int64_t{0}}});
  const ValueId zero_one = c.Cast(c.Ints(std::array<int64_t, 2>{0, 1}), c.type(x).dtype);
  c.SetOutput(0, c.Emit("OneHot", {largest, c.DimOf(x, axis), zero_one}, {{"axis", signed_axis}}));
}

// The attribute 'axes', or all of them.
std::vector<int64_t> AxesOf(const Node& node, size_t rank) {
  const std::span<const int64_t> given = node.Ints("axes");
  if (!given.empty()) return {given.begin(), given.end()};
  std::vector<int64_t> all(rank);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Status InferCenterCropPad(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectIndices(1));
  HR_RETURN_IF_ERROR(context.ExpectRank(1, 1));
  ValueType type = context.input(0);
  const auto sizes = context.ConstantInts(1);
  if (type.ranked) {
    const std::vector<int64_t> axes = AxesOf(context.node(), type.dims.size());
    if (sizes && sizes->size() != axes.size()) {
      return InvalidArgument("CenterCropPad has ", axes.size(), " axes and ", sizes->size(),
                             " sizes; give as many");
    }
    for (size_t i = 0; i < axes.size(); ++i) {
      HR_ASSIGN_OR_RETURN(const int64_t axis, ResolveAxis(context, axes[i], type.rank()));
      if (sizes && (*sizes)[i] < 0) {
        return InvalidArgument("CenterCropPad's sizes are 0 or more, got ", (*sizes)[i]);
      }
      type.dims[static_cast<size_t>(axis)] = sizes ? FixedDim((*sizes)[i]) : Dim();
    }
  }
  context.SetOutput(0, std::move(type));
  return {};
}

// What is too long is cut, and what is too short is padded; the larger half of either at the end.
void ComposeCenterCropPad(ComposeContext& c) {
  const ValueId x = c.input(0);
  const size_t rank = c.Rank(x);
  const std::vector<int64_t> axes = AxesOf(c.node(), rank);
  std::vector<ValueId> lengths;
  for (int64_t axis : axes) lengths.push_back(c.DimOf(x, c.Axis(axis, rank)));
  if (!c.ok() || axes.empty()) return c.SetOutput(0, x);
  const ValueId length = c.Joined(lengths), wanted = c.Cast(c.input(1), DType::kInt64);
  const ValueId zero = c.Int(0), two = c.Int(2), axes_value = c.Ints(axes);
  const ValueId extra = c.Emit("Max", {c.Sub(length, wanted), zero});
  const ValueId start = c.Div(extra, two);
  const ValueId kept = c.Emit("Min", {length, wanted});
  const ValueId cut = c.Emit("Slice", {x, start, c.Add(start, kept), axes_value});
  const ValueId missing = c.Emit("Max", {c.Sub(wanted, length), zero});
  const ValueId before = c.Div(missing, two);
  const ValueId pads = c.Joined(std::array{before, c.Sub(missing, before)});
  c.SetOutput(0, c.Emit("Pad", {cut, pads, kNone, axes_value}));
}

constexpr OpDef kComposedMovementOps[] = {
    {.domain = kOnnx,
     .name = "DepthToSpace",
     .attributes = kDepthAttributes,
     .infer = InferDepthToSpace,
     .compose = ComposeDepthToSpace},
    {.domain = kOnnx,
     .name = "SpaceToDepth",
     .attributes = std::span(kDepthAttributes).first(1),
     .infer = InferSpaceToDepth,
     .compose = ComposeSpaceToDepth},
    // Version 13; before, the axes from `axis` on were one.
    {.domain = kOnnx,
     .name = "Hardmax",
     .since_version = 13,
     .attributes = kMovedAxis,
     .infer = InferAlongAxis,
     .compose = ComposeHardmax},
    {.domain = kOnnx,
     .name = "CenterCropPad",
     .since_version = 18,
     .inputs = {2, 2},
     .attributes = kMovedAxes,
     .infer = InferCenterCropPad,
     .compose = ComposeCenterCropPad},
};

}  // namespace

OpFamily ComposedMovementOps() { return Chosen<kComposedMovementOps>(); }

}  // namespace hr::ops
