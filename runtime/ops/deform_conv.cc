// Deformable convolution: every element of a window is read where an offset says.
#include <array>
#include <numeric>

#include "runtime/ops/builtin.h"
#include "runtime/ops/sampling.h"
#include "runtime/ops/shape_rules.h"
#include "runtime/ops/window.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kDeformConvAttributes[] = {
    {"dilations", AttributeKind::kInts},    {"group", AttributeKind::kInt},
    {"kernel_shape", AttributeKind::kInts}, {"offset_group", AttributeKind::kInt},
    {"pads", AttributeKind::kInts},         {"strides", AttributeKind::kInts},
};

// (x [N, C, spatial…], w [M, C / group, kernel…], offset [N, offset_group · block · axes, out…],
// bias [M]?, mask [N, offset_group · block, out…]?)
enum Input : size_t { kX, kW, kOffset, kBias, kDeformMask };

// The kernel's sizes; nothing while they are not known.
std::optional<Dims> KernelOf(const Node& node, const ValueType& w) {
  const auto given = node.Ints("kernel_shape");
  if (!given.empty()) return Dims(given.begin(), given.end());
  Dims sizes;
  for (size_t i = 2; i < w.dims.size(); ++i) {
    if (!w.dims[i].fixed()) return std::nullopt;
    sizes.push_back(w.dims[i].size);
  }
  return sizes;
}

Status CheckGroups(const InferContext& context) {
  const int64_t group = context.node().Int("group", 1);
  const int64_t offset_group = context.node().Int("offset_group", 1);
  const ValueType &x = context.input(kX), &w = context.input(kW);
  constexpr int64_t kMost = int64_t{1} << 31;
  if (group < 1 || offset_group < 1 || group > kMost || offset_group > kMost) {
    return InvalidArgument("DeformConv's 'group' and 'offset_group' are 1 or more, got ", group,
                           " and ", offset_group);
  }
  HR_ASSIGN_OR_RETURN(const Dim channels, Product(context, std::array{w.dims[1], FixedDim(group)}));
  HR_RETURN_IF_ERROR(
      EqualDims(context, "the channels of image and weights", x.dims[1], channels).status());
  if (x.dims[1].fixed() && x.dims[1].size % offset_group != 0) {
    return InvalidArgument("DeformConv's ", x.dims[1].size, " channels do not divide into ",
                           offset_group, " groups of offsets");
  }
  if (!w.dims[0].fixed() || w.dims[0].size % group == 0) return {};
  return InvalidArgument("DeformConv's ", w.dims[0].size, " results do not divide into ", group,
                         " groups");
}

// Input `i` has `numbers` for each place of the block and group, at each place of the output.
Status CheckOffsets(InferContext& context, size_t i, int64_t numbers, const Dims& kernel,
                    std::vector<Dim>* out) {
  HR_RETURN_IF_ERROR(context.ExpectSameDType(kX, i));
  HR_RETURN_IF_ERROR(context.ExpectRank(i, context.input(kX).rank()));
  const ValueType& type = context.input(i);
  if (!type.ranked) return {};
  std::vector<Dim> factors = {FixedDim(context.node().Int("offset_group", 1)), FixedDim(numbers)};
  for (int64_t size : kernel) factors.push_back(FixedDim(size));
  HR_ASSIGN_OR_RETURN(const Dim rows, Product(context, factors));
  HR_RETURN_IF_ERROR(
      EqualDims(context, "the rows of offsets or of the mask", type.dims[1], rows).status());
  HR_ASSIGN_OR_RETURN((*out)[0], EqualDims(context, "the images", (*out)[0], type.dims[0]));
  for (size_t d = 2; d < out->size(); ++d) {
    HR_ASSIGN_OR_RETURN((*out)[d],
                        EqualDims(context, "the places of the window", (*out)[d], type.dims[d]));
  }
  return {};
}

// What the output is by image and kernel.
Result<std::vector<Dim>> WindowDims(const InferContext& context, const Dims& kernel) {
  const ValueType &x = context.input(kX), &w = context.input(kW);
  if (kernel.size() != x.dims.size() - 2) {
    return InvalidArgument("DeformConv's 'kernel_shape' wants ", x.dims.size() - 2,
                           " numbers, got ", kernel.size());
  }
  std::vector<Dim> out = {x.dims[0], w.dims[0]};
  Dims spatial;
  for (size_t i = 2; i < x.dims.size(); ++i) {
    spatial.push_back(x.dims[i].size);
    HR_RETURN_IF_ERROR(
        EqualDims(context, "kernel_shape and weights", FixedDim(kernel[i - 2]), w.dims[i])
            .status());
  }
  auto windows = ResolveWindow(context.node(), kernel, spatial);
  if (!windows.ok()) return std::move(windows).status().WithContext("DeformConv");
  for (const WindowAxis& axis : *windows) {
    out.push_back(axis.output >= 0 ? FixedDim(axis.output) : Dim());
  }
  return out;
}

Status InferDeformConv(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectFloating(kX));
  HR_RETURN_IF_ERROR(context.ExpectSameDType(kX, kW));
  HR_RETURN_IF_ERROR(context.ExpectSameDType(kX, kOffset));
  HR_RETURN_IF_ERROR(context.ExpectRankAtLeast(kX, 3));
  const ValueType &x = context.input(kX), &w = context.input(kW);
  if (!x.ranked || !w.ranked) {
    context.SetUnranked(0, x.dtype);
    return {};
  }
  HR_RETURN_IF_ERROR(context.ExpectRank(kW, x.rank()));
  HR_RETURN_IF_ERROR(CheckGroups(context));
  const auto kernel = KernelOf(context.node(), w);
  std::vector<Dim> out(x.dims.size());
  if (kernel) {
    HR_ASSIGN_OR_RETURN(out, WindowDims(context, *kernel));
    HR_RETURN_IF_ERROR(CheckOffsets(context, kOffset, x.rank() - 2, *kernel, &out));
    if (context.has_input(kDeformMask)) {
      HR_RETURN_IF_ERROR(CheckOffsets(context, kDeformMask, 1, *kernel, &out));
    }
  }
  if (context.has_input(kBias)) {
    HR_RETURN_IF_ERROR(context.ExpectSameDType(kX, kBias));
    HR_RETURN_IF_ERROR(context.ExpectRank(kBias, 1));
    if (context.input(kBias).ranked) {
      HR_RETURN_IF_ERROR(
          EqualDims(context, "results and bias", w.dims[0], context.input(kBias).dims[0]).status());
    }
  }
  SetDims(context, 0, x.dtype, std::move(out));
  return {};
}

int64_t At(std::span<const int64_t> values, size_t i, int64_t otherwise) {
  return i < values.size() ? values[i] : otherwise;
}

// Where along `axis` the elements of the block lie in the window at place 0: [1, block, 1].
ValueId BlockPlaces(ComposeContext& c, const Dims& kernel, size_t axis) {
  const Node& node = c.node();
  const int64_t behind = ElementCount(std::span(kernel).subspan(axis + 1));
  const int64_t dilation = At(node.Ints("dilations"), axis, 1),
                pad = At(node.Ints("pads"), axis, 0);
  std::vector<int64_t> places(static_cast<size_t>(ElementCount(kernel)));
  for (size_t i = 0; i < places.size(); ++i) {
    places[i] = static_cast<int64_t>(i) / behind % kernel[axis] * dilation - pad;
  }
  return c.Emit("Unsqueeze", {c.Ints(places), c.Ints(std::array<int64_t, 2>{0, 2})});
}

// Where along `axis` the windows begin, for all places of the output: [1, 1, places].
ValueId WindowPlaces(ComposeContext& c, size_t axis, size_t axes) {
  std::vector<ValueId> sizes;
  for (size_t i = 0; i < axes; ++i) sizes.push_back(c.DimOf(c.input(kOffset), i + 2));
  const ValueId stride = c.Int(At(c.node().Ints("strides"), axis, 1));
  ValueId line = c.Mul(c.Counted(sizes[axis]), stride);
  std::vector<int64_t> behind(axes - 1 - axis);
  std::iota(behind.begin(), behind.end(), 1);
  if (!behind.empty()) line = c.Emit("Unsqueeze", {line, c.Ints(behind)});
  const ValueId all[] = {c.Int(1), c.Int(1), c.Int(-1)};
  return c.Reshape(c.Emit("Expand", {line, c.Joined(sizes)}), all);
}

// What the windows read: [N, C, block, places].
ValueId Columns(ComposeContext& c, const Dims& kernel) {
  const ValueId x = c.input(kX), groups = c.Int(c.node().Int("offset_group", 1));
  const ValueId n = c.DimOf(x, 0), block = c.Int(ElementCount(kernel)), rest = c.Int(-1);
  const auto axes = static_cast<int64_t>(kernel.size());
  const ValueId grouped = c.Mul(n, groups), channels = c.Div(c.DimOf(x, 1), groups);
  const ValueId offset = c.Reshape(c.input(kOffset), std::array{grouped, block, c.Int(axes), rest});
  std::vector<ValueId> sizes = {grouped, channels}, positions;
  for (int64_t axis = 0; axis < axes; ++axis) {
    const auto i = static_cast<size_t>(axis);
    sizes.push_back(c.DimOf(x, i + 2));
    const ValueId places = c.Add(WindowPlaces(c, i, kernel.size()), BlockPlaces(c, kernel, i));
    const ValueId moved =
        c.Emit("Squeeze", {c.Slice(offset, 2, c.Int(axis), c.Int(axis + 1)), c.Int(2)});
    const ValueId all[] = {grouped, rest};
    positions.push_back(c.Reshape(c.Add(moved, c.CastLike(places, moved)), all));
  }
  ValueId read = SampleLinear(c, c.Reshape(x, sizes), positions);
  if (c.input(kDeformMask) != kNone) {
    const ValueId all[] = {grouped, c.Int(1), rest};
    read = c.Mul(read, c.Reshape(c.input(kDeformMask), all));
  }
  return c.Reshape(read, std::array{n, c.DimOf(x, 1), block, rest});
}

// The windows' elements as columns, and the weights as a matrix for each group.
void ComposeDeformConv(ComposeContext& c) {
  const ValueId x = c.input(kX), w = c.input(kW);
  const size_t rank = c.Rank(x);
  if (c.Rank(w) != rank || c.Rank(c.input(kOffset)) != rank || !c.ok()) return;
  const auto kernel = KernelOf(c.node(), c.type(w));
  if (!kernel) return c.Fail(FailedPrecondition("needs to know the kernel's size"));
  const ValueId group = c.Int(c.node().Int("group", 1)), n = c.DimOf(x, 0), rest = c.Int(-1);
  const ValueId inner = c.Mul(c.DimOf(w, 1), c.Int(ElementCount(*kernel)));
  const ValueId columns = c.Reshape(Columns(c, *kernel), std::array{n, group, inner, rest});
  const ValueId weights = c.Reshape(w, std::array{group, rest, inner});
  std::vector<ValueId> sizes = {n, c.DimOf(w, 0)};
  for (size_t i = 2; i < rank; ++i) sizes.push_back(c.DimOf(c.input(kOffset), i));
  ValueId y = c.Reshape(c.Emit("MatMul", {weights, columns}), sizes);
  std::vector<int64_t> behind(rank - 2);
  std::iota(behind.begin(), behind.end(), 1);
  if (c.input(kBias) != kNone) y = c.Add(y, c.Emit("Unsqueeze", {c.input(kBias), c.Ints(behind)}));
  c.SetOutput(0, y);
}

constexpr OpDef kDeformConvOps[] = {
    {.domain = kOnnx,
     .name = "DeformConv",
     .since_version = 19,
     .inputs = {3, 5},
     .attributes = kDeformConvAttributes,
     .infer = InferDeformConv,
     .compose = ComposeDeformConv},
};

}  // namespace

OpFamily DeformConvOps() { return Chosen<kDeformConvOps>(); }

}  // namespace hr::ops
