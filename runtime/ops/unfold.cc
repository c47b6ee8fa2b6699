// Images of their windows' columns, and images of their maxima.
#include <algorithm>
#include <array>

#include "runtime/ops/builtin.h"
#include "runtime/ops/compose.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/shape_rules.h"
#include "runtime/ops/window.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kColumnAttributes[] = {{"dilations", AttributeKind::kInts},
                                              {"pads", AttributeKind::kInts},
                                              {"strides", AttributeKind::kInts}};
constexpr AttributeDef kUnpoolAttributes[] = {{"kernel_shape", AttributeKind::kInts, true},
                                              {"pads", AttributeKind::kInts},
                                              {"strides", AttributeKind::kInts}};

// Fails if `columns` [N, C · block, positions] does not fit the windows.
Status CheckColumns(const InferContext& context, const ValueType& columns,
                    const std::vector<WindowAxis>& axes) {
  std::vector<Dim> block, positions;
  for (const WindowAxis& axis : axes) {
    block.push_back(FixedDim(axis.kernel));
    positions.push_back(axis.output >= 0 ? FixedDim(axis.output) : Dim());
  }
  HR_ASSIGN_OR_RETURN(const Dim size, Product(context, block));
  HR_ASSIGN_OR_RETURN(const Dim count, Product(context, positions));
  if (columns.dims[1].fixed() && columns.dims[1].size % size.size != 0) {
    return InvalidArgument(context.def().name, "'s ", columns.dims[1].size,
                           " rows are no whole number of blocks of ", size.size, " elements");
  }
  return EqualDims(context, "the columns and the places of the block", columns.dims[2], count)
      .status();
}

Status CheckGivenAxes(const InferContext& context, const std::vector<int64_t>& image,
                      const std::vector<int64_t>& block) {
  if (image.size() != block.size() || image.empty()) {
    return InvalidArgument(context.def().name,
                           " wants an image_shape and a block_shape with a number for each "
                           "spatial axis, got ",
                           image.size(), " and ", block.size(), " numbers");
  }
  for (int64_t size : image) {
    if (size < 1) return InvalidArgument("image_shape wants numbers from 1 on, got ", image);
  }
  return {};
}

// (columns [N, C · block, positions], image_shape, block_shape) → [N, C, image…]
Status InferCol2Im(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectNumeric(0));
  HR_RETURN_IF_ERROR(context.ExpectRank(0, 3));
  HR_RETURN_IF_ERROR(context.ExpectInts(1));
  HR_RETURN_IF_ERROR(context.ExpectInts(2));
  const ValueType& columns = context.input(0);
  const auto image = context.ConstantInts(1), block = context.ConstantInts(2);
  if (!image || !block || !columns.ranked) {
    context.SetUnranked(0, columns.dtype);
    return {};
  }
  HR_RETURN_IF_ERROR(CheckGivenAxes(context, *image, *block));
  auto axes = ResolveWindow(context.node(), *block, *image);
  if (!axes.ok()) return std::move(axes).status().WithContext(context.def().name);
  HR_RETURN_IF_ERROR(CheckColumns(context, columns, *axes));
  std::vector<Dim> dims = {columns.dims[0], Dim()};
  if (columns.dims[1].fixed()) dims[1] = FixedDim(columns.dims[1].size / ElementCount(*block));
  for (int64_t size : *image) dims.push_back(FixedDim(size));
  HR_RETURN_IF_ERROR(Product(context, dims).status());
  SetDims(context, 0, columns.dtype, std::move(dims));
  return {};
}

void Col2ImGradient(GradientContext& g) {
  g.SetGrad(0, g.EmitGradAlike("Im2Col", {g.grad(0), g.input(0), g.input(2)}));
}

Status InferIm2Col(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectNumeric(0));
  HR_RETURN_IF_ERROR(context.ExpectSameDType(0, 1));
  HR_RETURN_IF_ERROR(context.ExpectRank(1, 3));
  HR_RETURN_IF_ERROR(context.ExpectInts(2));
  return InferLikeInput<1>(context);
}

Status CheckUnpool(const InferContext& context, size_t axes) {
  const struct {
    Literal name;
    size_t size;
    int64_t least;
  } lists[] = {{"kernel_shape", axes, 1}, {"strides", axes, 1}, {"pads", 2 * axes, 0}};
  for (const auto& list : lists) {
    const auto values = context.node().Ints(list.name);
    if (values.empty() && list.name != std::string_view("kernel_shape")) continue;
    const bool in_range = std::all_of(values.begin(), values.end(), [&](int64_t value) {
      return value >= list.least && value < int64_t{1} << 31;
    });
    if (values.size() == list.size && in_range) continue;
    return InvalidArgument("MaxUnpool's attribute '", std::string_view(list.name), "' wants ",
                           list.size, " numbers from ", list.least, " on, got ", values);
  }
  return {};
}

// One axis of the image: size · stride + this.
int64_t UnpoolOffset(const Node& node, size_t axis) {
  const auto kernel = node.Ints("kernel_shape"), strides = node.Ints("strides"),
             pads = node.Ints("pads");
  const int64_t padded = pads.empty() ? 0 : pads[axis] + pads[axis + kernel.size()];
  return kernel[axis] - (strides.empty() ? 1 : strides[axis]) - padded;
}
int64_t UnpoolStride(const Node& node, size_t axis) {
  const auto strides = node.Ints("strides");
  return strides.empty() ? 1 : strides[axis];
}

Result<std::vector<Dim>> UnpooledDims(const InferContext& context) {
  std::vector<Dim> dims = context.input(0).dims;
  for (size_t i = 2; i < dims.size(); ++i) {
    if (!dims[i].fixed()) {
      dims[i] = Dim();
      continue;
    }
    const Dim stride = FixedDim(UnpoolStride(context.node(), i - 2));
    HR_ASSIGN_OR_RETURN(const Dim steps, Product(context, std::array{dims[i], stride}));
    dims[i] = FixedDim(steps.size + UnpoolOffset(context.node(), i - 2));
    if (dims[i].size >= 0) continue;
    return InvalidArgument("MaxUnpool has pads that leave nothing of ", context.InputText(0));
  }
  return dims;
}

// (x [N, C, spatial…], indices, output_shape?) → [N, C, larger spatial…]
Status InferMaxUnpool(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectFloating(0));
  HR_RETURN_IF_ERROR(context.ExpectDType(1, {DType::kInt64}));
  HR_RETURN_IF_ERROR(context.ExpectRankAtLeast(0, 3));
  const ValueType& x = context.input(0);
  if (!x.ranked) {
    context.SetUnranked(0, x.dtype);
    return {};
  }
  HR_RETURN_IF_ERROR(context.ExpectRank(1, x.rank()));
  HR_RETURN_IF_ERROR(CheckUnpool(context, x.dims.size() - 2));
  for (size_t i = 0; context.input(1).ranked && i < x.dims.size(); ++i) {
    HR_RETURN_IF_ERROR(
        EqualDims(context, "maxima and indices", x.dims[i], context.input(1).dims[i]).status());
  }
  HR_ASSIGN_OR_RETURN(auto&& dims, UnpooledDims(context));
  if (context.has_input(2)) {
    HR_RETURN_IF_ERROR(context.ExpectInts(2));
    const auto given = context.ConstantInts(2);
    if (given && given->size() != dims.size()) {
      return InvalidArgument("MaxUnpool's output_shape wants ", dims.size(), " numbers, got ",
                             given->size());
    }
    for (size_t i = 0; i < dims.size(); ++i) {
      if (given && dims[i].fixed() && (*given)[i] < dims[i].size) {
        return InvalidArgument("MaxUnpool's output_shape ", *given,
                               " is smaller than the image of its windows, ", dims[i].size,
                               " along axis ", i);
      }
      dims[i] = given ? FixedDim((*given)[i]) : Dim();
    }
  }
  SetDims(context, 0, x.dtype, std::move(dims));
  return {};
}

// Each maximum at its place among zeros; a larger output_shape adds zeros behind.
void ComposeMaxUnpool(ComposeContext& c) {
  const ValueId x = c.input(0);
  const size_t rank = c.Rank(x);
  if (!c.ok()) return;
  std::vector<ValueId> sizes = {c.DimOf(x, 0), c.DimOf(x, 1)};
  for (size_t i = 2; i < rank; ++i) {
    const ValueId steps = c.Mul(c.DimOf(x, i), c.Int(UnpoolStride(c.node(), i - 2)));
    sizes.push_back(c.Add(steps, c.Int(UnpoolOffset(c.node(), i - 2))));
  }
  const ValueId shape = c.Joined(sizes), all = c.Int(-1);
  const ValueId count = c.Emit("ReduceProd", {shape}, {{"keepdims", int64_t{1}}});
  const ValueId zeros = c.Emit("Expand", {c.Scalar(0, x), count});
  const ValueId indices = c.Emit("Reshape", {c.input(1), all});
  const ValueId maxima = c.Emit("Reshape", {x, all});
  ValueId y = c.Emit("Reshape", {c.Emit("ScatterElements", {zeros, indices, maxima}), shape});
  if (c.input(2) != kNone) {
    const ValueId more = c.Sub(c.input(2), shape);
    y = c.Emit("Pad", {y, c.Joined(std::array{c.Mul(more, c.Int(0)), more})});
  }
  c.SetOutput(0, y);
}

constexpr OpDef kUnfoldOps[] = {
    {.domain = kOnnx,
     .name = "Col2Im",
     .since_version = 18,
     .inputs = {3, 3},
     .attributes = kColumnAttributes,
     .infer = InferCol2Im,
     .gradient = Col2ImGradient},
    // (image, columns, block_shape) → columns: each window of the image; of columns only the type
    // is used
    {.domain = kGrad,
     .name = "Im2Col",
     .inputs = {3, 3},
     .type_only_inputs = 1u << 1,
     .attributes = kColumnAttributes,
     .infer = InferIm2Col},
    {.domain = kOnnx,
     .name = "MaxUnpool",
     .since_version = 9,
     .inputs = {2, 3},
     .attributes = kUnpoolAttributes,
     .infer = InferMaxUnpool,
     .compose = ComposeMaxUnpool},
};

}  // namespace

OpFamily UnfoldOps() { return Chosen<kUnfoldOps>(); }

}  // namespace hr::ops
