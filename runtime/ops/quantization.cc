// Quantized numbers: to them and back, for a whole tensor, along an axis, or in blocks of an axis.
#include "runtime/ops/builtin.h"
#include "runtime/ops/compose.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kQuantizeAttributes[] = {
    {"axis", AttributeKind::kInt},         {"block_size", AttributeKind::kInt},
    {"output_dtype", AttributeKind::kInt}, {"precision", AttributeKind::kInt},
    {"saturate", AttributeKind::kFlag},
};
constexpr AttributeDef kDequantizeAttributes[] = {{"axis", AttributeKind::kInt},
                                                  {"block_size", AttributeKind::kInt},
                                                  {"output_dtype", AttributeKind::kInt}};

bool IsQuantized(DType dtype) {
  return dtype == DType::kInt8 || dtype == DType::kUint8 || dtype == DType::kInt16 ||
         dtype == DType::kUint16 || IsFloat8(dtype);
}

// A scalar, or one number in a list.
bool IsOne(const std::vector<Dim>& dims) {
  return dims.empty() || (dims.size() == 1 && dims[0].fixed() && dims[0].size == 1);
}

// Each scale has its zero point.
Status CheckZeroPoint(const InferContext& context) {
  if (!context.has_input(2) || !context.input(1).ranked || !context.input(2).ranked) return {};
  const auto &scale = context.input(1).dims, &zero = context.input(2).dims;
  if (IsOne(scale) && IsOne(zero)) return {};
  bool fits = scale.size() == zero.size();
  for (size_t i = 0; fits && i < scale.size(); ++i) {
    fits = !scale[i].fixed() || !zero[i].fixed() || scale[i].size == zero[i].size;
  }
  if (fits) return {};
  return InvalidArgument(context.def().name, " has a zero point for each scale, got ",
                         context.InputText(1), " and ", context.InputText(2));
}

// Scales for blocks of the axis; elsewhere they have the shape of x.
Status CheckBlocks(const InferContext& context, size_t axis, int64_t block) {
  const ValueType &x = context.input(0), &scale = context.input(1);
  HR_RETURN_IF_ERROR(context.ExpectRank(1, x.rank()));
  for (size_t i = 0; i < x.dims.size(); ++i) {
    Dim wanted = x.dims[i];
    if (i == axis && wanted.fixed()) {
      wanted = FixedDim(wanted.size / block + (wanted.size % block != 0));
    }
    if (i == axis && !wanted.fixed()) continue;
    HR_RETURN_IF_ERROR(EqualDims(context,
                                 Cat("the blocks of axis ", i, " and ", context.InputText(1)),
                                 wanted, scale.dims[i])
                           .status());
  }
  return {};
}

// The scale is a number, a vector along the axis, or has the rank of x and covers blocks of the
// axis.
Status CheckScale(const InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectFloating(1));
  const ValueType& x = context.input(0);
  const ValueType& scale = context.input(1);
  const int64_t block = context.node().Int("block_size", 0);
  if (block < 0) {
    return InvalidArgument(context.def().name, "'s 'block_size' is 0 or more, got ", block);
  }
  HR_RETURN_IF_ERROR(CheckZeroPoint(context));
  if (!x.ranked || !scale.ranked || scale.rank() == 0) return {};
  HR_ASSIGN_OR_RETURN(const int64_t axis,
                      ResolveAxis(context, context.node().Int("axis", 1), x.rank()));
  if (block > 0) return CheckBlocks(context, static_cast<size_t>(axis), block);
  HR_RETURN_IF_ERROR(context.ExpectRank(1, 1));
  const Dim along = x.dims[static_cast<size_t>(axis)];
  if (scale.dims[0].fixed() && scale.dims[0].size == 1) return {};
  return EqualDims(context, Cat("axis ", axis, " and ", context.InputText(1)), along, scale.dims[0])
      .status();
}

Status InferQuantize(InferContext& context) {
  HR_RETURN_IF_ERROR(CheckScale(context));
  ValueType type = context.input(0);
  const auto asked = static_cast<DType>(context.node().Int("output_dtype", 0));
  type.dtype = context.has_input(2)         ? context.input(2).dtype
               : asked != DType::kUndefined ? asked
                                            : DType::kUint8;
  if (!IsQuantized(type.dtype)) {
    return Unimplemented(context.def().name,
                         " gives int8, uint8, int16, uint16 or a float of 8 bits here, asked for ",
                         DTypeName(type.dtype));
  }
  context.SetOutput(0, std::move(type));
  return {};
}

Status InferDequantize(InferContext& context) {
  HR_RETURN_IF_ERROR(CheckScale(context));
  HR_RETURN_IF_ERROR(context.ExpectSameDType(0, 2));
  ValueType type = context.input(0);
  if (!IsQuantized(type.dtype) && type.dtype != DType::kInt32) {
    return Unimplemented(context.def().name,
                         " takes int8, uint8, int16, uint16, int32 or a float of 8 bits here, got ",
                         DTypeName(type.dtype));
  }
  const auto asked = static_cast<DType>(context.node().Int("output_dtype", 0));
  type.dtype = asked == DType::kUndefined ? context.input(1).dtype : asked;
  if (!IsFloating(type.dtype)) {
    return InvalidArgument(context.def().name, " gives floating-point numbers, asked for ",
                           DTypeName(type.dtype));
  }
  context.SetOutput(0, std::move(type));
  return {};
}

std::vector<int64_t> AllBut(size_t axis, size_t rank) {
  std::vector<int64_t> axes;
  for (size_t i = 0; i < rank; ++i) {
    if (i != axis) axes.push_back(static_cast<int64_t>(i));
  }
  return axes;
}

// Each number along the axis as often as a block is long, cut to the length of x.
ValueId Repeated(ComposeContext& c, ValueId value, size_t axis, int64_t block) {
  const ValueId x = c.input(0);
  const size_t rank = c.Rank(x);
  if (!c.ok()) return kNone;
  std::vector<int64_t> copies(rank + 1, 1);
  copies[axis + 1] = block;
  const auto behind = static_cast<int64_t>(axis) + 1;
  const ValueId split = c.Emit("Unsqueeze", {value, c.Ints(std::array{behind})});
  const ValueId copied = c.Emit("Expand", {split, c.Ints(copies)});
  std::vector<ValueId> sizes;
  for (size_t i = 0; i < rank; ++i) {
    sizes.push_back(i == axis ? c.Ints(std::array<int64_t, 1>{-1}) : c.DimOf(value, i));
  }
  return c.Emit("Slice", {c.Reshape(copied, sizes), c.Ints(std::array<int64_t, 1>{0}),
                          c.DimOf(x, axis), c.Ints(std::array{behind - 1})});
}

// A scale or zero point in a shape that broadcasts to x.
ValueId Spread(ComposeContext& c, ValueId value) {
  const size_t given = c.Rank(value), rank = c.Rank(c.input(0));
  if (!c.ok() || given == 0) return value;
  if (IsOne(c.type(value).dims)) return rank > 0 ? value : c.Emit("Squeeze", {value});
  const size_t axis = c.Axis(c.node().Int("axis", 1), rank);
  const int64_t block = c.node().Int("block_size", 0);
  if (block > 0) return Repeated(c, value, axis, block);
  if (rank == 1) return value;
  return c.Emit("Unsqueeze", {value, c.Ints(AllBut(axis, rank))});
}

struct Range {
  double least, most;
};
Range RangeOf(DType dtype) {
  switch (dtype) {
    case DType::kInt8: return {-128, 127};
    case DType::kInt16: return {-32768, 32767};
    case DType::kUint16: return {0, 65535};
    default: return {0, 255};
  }
}

// Rounded half to even, shifted by the zero point, and kept within the type. Floats of 8 bits are
// rounded by their cast alone.
void ComposeQuantize(ComposeContext& c) {
  const ValueId scale = Spread(c, c.input(1));
  ValueId y = c.Div(c.CastLike(c.input(0), scale), scale);
  if (!c.ok()) return;
  const DType to = c.type(c.node().outputs[0]).dtype;
  if (!IsFloat8(to)) y = c.Emit("Round", {y});
  y = c.Cast(y, DType::kFloat32);  // float16 does not hold all of 16 bits
  if (c.input(2) != kNone) y = c.Add(y, c.Cast(Spread(c, c.input(2)), DType::kFloat32));
  if (IsFloat8(to)) {
    const int64_t saturate = c.node().Int("saturate", 1);
    const auto code = static_cast<int64_t>(to);
    return c.SetOutput(0, c.Emit("Cast", {y}, {{"saturate", saturate}, {"to", code}}));
  }
  const Range range = RangeOf(to);
  y = c.Emit("Clip", {y, c.Scalar(range.least, y), c.Scalar(range.most, y)});
  c.SetOutput(0, c.Cast(y, to));
}

void ComposeDequantize(ComposeContext& c) {
  const ValueId scale = Spread(c, c.input(1));
  ValueId x = c.Cast(c.input(0), DType::kFloat32);
  if (c.input(2) != kNone) x = c.Sub(x, c.Cast(Spread(c, c.input(2)), DType::kFloat32));
  const ValueId y = c.Mul(x, c.Cast(scale, DType::kFloat32));
  if (c.ok()) c.SetOutput(0, c.Cast(y, c.type(c.node().outputs[0]).dtype));
}

// Kernels know numbers of 8 bits with scales in float32, for a whole tensor or along an axis.
bool AreKernelTypes(const graph::Graph& graph, const Node& node, size_t quantized, size_t real) {
  const auto dtype = [&](ValueId value) { return graph.values[value].type.dtype; };
  const auto of = [&](size_t i) { return i < 2 ? node.inputs[i] : node.outputs[0]; };
  const DType small = dtype(of(quantized));
  return (small == DType::kInt8 || small == DType::kUint8) && dtype(of(real)) == DType::kFloat32 &&
         dtype(node.inputs[1]) == DType::kFloat32 && node.Int("block_size", 0) == 0;
}
bool HasQuantizeKernel(const graph::Graph& graph, const Node& node) {
  return AreKernelTypes(graph, node, 2, 0);
}
bool HasDequantizeKernel(const graph::Graph& graph, const Node& node) {
  return AreKernelTypes(graph, node, 0, 2);
}

constexpr OpDef Quantize(int version, size_t attributes) {
  return {.domain = kOnnx,
          .name = "QuantizeLinear",
          .since_version = version,
          .inputs = {2, 3},
          .attributes = std::span(kQuantizeAttributes).first(attributes),
          .infer = InferQuantize,
          .compose = ComposeQuantize,
          .has_kernel = HasQuantizeKernel};
}
constexpr OpDef Dequantize(int version, size_t attributes) {
  return {.domain = kOnnx,
          .name = "DequantizeLinear",
          .since_version = version,
          .inputs = {2, 3},
          .attributes = std::span(kDequantizeAttributes).first(attributes),
          .infer = InferDequantize,
          .compose = ComposeDequantize,
          .has_kernel = HasDequantizeKernel};
}

// Version 10 for whole tensors, 13 along an axis; later ones in blocks, and with more types.
constexpr OpDef kQuantizationOps[] = {
    Quantize(10, 5),   Quantize(21, 5),   Quantize(23, 5),
    Dequantize(10, 3), Dequantize(21, 3), Dequantize(23, 3),
};

}  // namespace

OpFamily QuantizationOps() { return Chosen<kQuantizationOps>(); }

}  // namespace hr::ops
