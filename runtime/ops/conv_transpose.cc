// Transposed convolution: the gradient of a convolution by its image.
#include <algorithm>
#include <array>

#include "runtime/ops/builtin.h"
#include "runtime/ops/compose.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kConvTransposeAttributes[] = {
    {"auto_pad", AttributeKind::kString},     {"dilations", AttributeKind::kInts},
    {"group", AttributeKind::kInt},           {"kernel_shape", AttributeKind::kInts},
    {"output_padding", AttributeKind::kInts}, {"output_shape", AttributeKind::kInts},
    {"pads", AttributeKind::kInts},           {"strides", AttributeKind::kInts},
};

// One spatial axis. The output has (input - 1) * stride + extent - pad_begin - pad_end elements,
// and `zeros` more that no input reaches.
struct Axis {
  int64_t kernel = 1, stride = 1, dilation = 1;
  int64_t pad_begin = 0, pad_end = 0, zeros = 0;

  int64_t extent() const { return (kernel - 1) * dilation + 1; }
  // What an axis of size 0 would have: sizes are input * stride + this.
  int64_t offset() const { return extent() - stride - pad_begin - pad_end; }
};

int64_t ItemOf(std::span<const int64_t> values, size_t i, int64_t otherwise) {
  return values.empty() ? otherwise : values[i];
}

// Sets the pads that leave `total` elements less than without any. Half of them are on each side;
// an odd one is at the end for SAME_UPPER. Less than none are zeros at the end.
void SetTotal(int64_t total, bool upper, Axis* axis) {
  axis->zeros = std::max<int64_t>(0, -total);
  total = std::max<int64_t>(0, total);
  axis->pad_begin = upper ? total / 2 : total - total / 2;
  axis->pad_end = total - axis->pad_begin;
}

// Output padding takes away from the pads at the end; what is left of it no input reaches.
void AddOutputPadding(int64_t more, Axis* axis) {
  const int64_t taken = std::min(more, axis->pad_end);
  axis->pad_end -= taken;
  axis->zeros += more - taken;
}

Result<Axis> AxisOf(const Node& node, size_t i, Axis axis, Dim input) {
  const std::string_view mode = node.String("auto_pad", "NOTSET");
  const auto shape = node.Ints("output_shape");
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  const int64_t more = ItemOf(node.Ints("output_padding"), i, 0);
  if (!shape.empty()) {
    if (!input.fixed())
      return FailedPrecondition(
          "needs to know the image's sizes, because it has an 'output_shape'");
    SetTotal(input.size * axis.stride + axis.offset() + more - shape[i], mode == "SAME_UPPER",
             &axis);
  } else if (same) {
    SetTotal(axis.offset() + more, mode == "SAME_UPPER", &axis);
  } else if (mode == "NOTSET") {
    const auto pads = node.Ints("pads");
    axis.pad_begin = ItemOf(pads, i, 0);
    axis.pad_end = pads.empty() ? 0 : pads[i + pads.size() / 2];
  }
  AddOutputPadding(more, &axis);
  return axis;
}

Status CheckLists(const Node& node, size_t axes) {
  const std::string_view mode = node.String("auto_pad", "NOTSET");
  if (!IsOneOf(mode, {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"})) {
    return InvalidArgument("'auto_pad' is NOTSET, SAME_UPPER, SAME_LOWER or VALID, got '", mode,
                           "'");
  }
  const struct {
    Literal name;
    size_t size;
    int64_t least;
  } lists[] = {{"strides", axes, 1},        {"dilations", axes, 1}, {"kernel_shape", axes, 1},
               {"output_padding", axes, 0}, {"pads", 2 * axes, 0},  {"output_shape", axes, 0}};
  for (const auto& list : lists) {
    const auto values = node.Ints(list.name);
    if (values.empty()) continue;
    if (values.size() != list.size) {
      return InvalidArgument("'", std::string_view(list.name), "' has ", list.size, " entries for ",
                             axes, " spatial axes, got ", values.size());
    }
    for (int64_t value : values) {
      if (value < list.least || value >= int64_t{1} << 31) {
        return InvalidArgument("'", std::string_view(list.name), "' is ", list.least,
                               " or more, got ", value);
      }
    }
  }
  return {};
}

// The axes of a node with these types; nothing while the kernel's size is not known.
Result<std::optional<std::vector<Axis>>> AxesOf(const Node& node, const ValueType& x,
                                                const ValueType& w) {
  HR_RETURN_IF_ERROR(CheckLists(node, x.dims.size() - 2));
  std::vector<Axis> axes;
  for (size_t i = 0; i + 2 < x.dims.size(); ++i) {
    const int64_t given = ItemOf(node.Ints("kernel_shape"), i, -1);
    const Dim size = w.dims[i + 2];
    if (given < 0 && !size.fixed()) return std::optional<std::vector<Axis>>();
    Axis axis = {.kernel = given < 0 ? size.size : given,
                 .stride = ItemOf(node.Ints("strides"), i, 1),
                 .dilation = ItemOf(node.Ints("dilations"), i, 1)};
    if (size.fixed() && size.size != axis.kernel) {
      return InvalidArgument("'kernel_shape' ", node.Ints("kernel_shape"),
                             " does not fit the weights");
    }
    HR_ASSIGN_OR_RETURN(axis, AxisOf(node, i, axis, x.dims[i + 2]));
    axes.push_back(axis);
  }
  return std::optional(std::move(axes));
}

Status CheckChannels(const InferContext& context) {
  const int64_t group = context.node().Int("group", 1);
  if (group < 1) return InvalidArgument("ConvTranspose's 'group' is 1 or more, got ", group);
  const ValueType &x = context.input(0), &w = context.input(1);
  HR_RETURN_IF_ERROR(
      EqualDims(context, "the channels of image and weights", x.dims[1], w.dims[0]).status());
  if (!w.dims[0].fixed() || w.dims[0].size % group == 0) return {};
  return InvalidArgument("ConvTranspose's ", w.dims[0].size, " channels do not divide into ", group,
                         " groups");
}

bool AllFixed(const ValueType& type) {
  return std::all_of(type.dims.begin() + 2, type.dims.end(), [](Dim dim) { return dim.fixed(); });
}

Result<std::vector<Dim>> OutputDims(const InferContext& context) {
  const ValueType &x = context.input(0), &w = context.input(1);
  HR_ASSIGN_OR_RETURN(
      const Dim channels,
      Product(context, std::array{w.dims[1], FixedDim(context.node().Int("group", 1))}));
  std::vector<Dim> dims = {x.dims[0], channels};
  dims.resize(x.dims.size());
  const auto shape = context.node().Ints("output_shape");
  if (shape.size() + 2 == dims.size() && !AllFixed(x)) {
    for (size_t i = 2; i < dims.size(); ++i) dims[i] = FixedDim(shape[i - 2]);
    return dims;
  }
  auto axes = AxesOf(context.node(), x, w);
  if (!axes.ok()) return std::move(axes).status().WithContext("ConvTranspose");
  for (size_t i = 2; *axes && i < dims.size(); ++i) {
    const Axis& axis = (**axes)[i - 2];
    if (!x.dims[i].fixed()) continue;
    HR_ASSIGN_OR_RETURN(const Dim steps,
                        Product(context, std::array{x.dims[i], FixedDim(axis.stride)}));
    dims[i] = FixedDim(steps.size + axis.offset() + axis.zeros);
    if (dims[i].size >= 0) continue;
    return InvalidArgument("ConvTranspose has pads that leave nothing of ", context.InputText(0));
  }
  return dims;
}

Status CheckTransposedBias(const InferContext& context, Dim channels) {
  if (!context.has_input(2)) return {};
  HR_RETURN_IF_ERROR(context.ExpectSameDType(0, 2));
  HR_RETURN_IF_ERROR(context.ExpectRank(2, 1));
  if (!context.input(2).ranked) return {};
  return EqualDims(context, "output channels and bias", channels, context.input(2).dims[0])
      .status();
}

Status InferConvTranspose(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectFloating(0));
  HR_RETURN_IF_ERROR(context.ExpectSameDType(0, 1));
  HR_RETURN_IF_ERROR(context.ExpectRankAtLeast(0, 3));
  const ValueType &x = context.input(0), &w = context.input(1);
  if (!x.ranked || !w.ranked) {
    context.SetUnranked(0, x.dtype);
    return {};
  }
  HR_RETURN_IF_ERROR(context.ExpectRank(1, x.rank()));
  HR_RETURN_IF_ERROR(CheckChannels(context));
  HR_ASSIGN_OR_RETURN(auto&& dims, OutputDims(context));
  HR_RETURN_IF_ERROR(CheckTransposedBias(context, dims[1]));
  SetDims(context, 0, x.dtype, std::move(dims));
  return {};
}

std::vector<graph::Attribute> ConvAttributes(const Node& node, const std::vector<Axis>& axes) {
  std::vector<int64_t> strides, dilations, kernel, pads(2 * axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    strides.push_back(axes[i].stride);
    dilations.push_back(axes[i].dilation);
    kernel.push_back(axes[i].kernel);
    pads[i] = axes[i].pad_begin;
    pads[i + axes.size()] = axes[i].pad_end;
  }
  return graph::Attributes({{"group", node.Int("group", 1)},
                            {"kernel_shape", kernel},
                            {"strides", strides},
                            {"dilations", dilations},
                            {"pads", pads}});
}

// The image whose convolution has the size of the input.
ValueId Image(ComposeContext& c, const std::vector<Axis>& axes) {
  const ValueId x = c.input(0), w = c.input(1);
  std::vector<ValueId> sizes = {c.DimOf(x, 0),
                                c.Mul(c.DimOf(w, 1), c.Int(c.node().Int("group", 1)))};
  for (size_t i = 0; i < axes.size(); ++i) {
    const ValueId steps = c.Mul(c.DimOf(x, i + 2), c.Int(axes[i].stride));
    sizes.push_back(c.Add(steps, c.Int(axes[i].offset())));
  }
  return c.Emit("Expand", {c.Scalar(0, x), c.Joined(sizes)});
}

void ComposeConvTranspose(ComposeContext& c) {
  const ValueId x = c.input(0), w = c.input(1);
  const size_t rank = c.Rank(x);
  if (c.Rank(w) != rank || !c.ok()) return;
  auto axes = AxesOf(c.node(), c.type(x), c.type(w));
  if (!axes.ok()) return c.Fail(std::move(axes).status());
  if (!*axes) return c.Fail(FailedPrecondition("needs to know the kernel's size"));
  const ValueId inputs[] = {x, w, Image(c, **axes)};
  const auto attributes = ConvAttributes(c.node(), **axes);
  ValueId y = c.EmitMany(kGrad, "ConvGradInput", inputs, 1, attributes)[0];
  std::vector<int64_t> pads(2 * rank, 0), behind;
  for (size_t i = 2; i < rank; ++i) {
    pads[rank + i] = (**axes)[i - 2].zeros;
    behind.push_back(static_cast<int64_t>(i) - 1);
  }
  if (pads != std::vector<int64_t>(pads.size(), 0)) y = c.Emit("Pad", {y, c.Ints(pads)});
  if (c.input(2) != kNone) y = c.Add(y, c.Emit("Unsqueeze", {c.input(2), c.Ints(behind)}));
  c.SetOutput(0, y);
}

constexpr OpDef kConvTransposeOps[] = {
    // (x [N, C, spatial…], w [C, M / group, kernel…], bias [M]?) → [N, M, spatial…]
    {.domain = kOnnx,
     .name = "ConvTranspose",
     .inputs = {2, 3},
     .attributes = kConvTransposeAttributes,
     .infer = InferConvTranspose,
     .compose = ComposeConvTranspose},
};

}  // namespace

OpFamily ConvTransposeOps() { return Chosen<kConvTransposeOps>(); }

}  // namespace hr::ops
