// Matrix products and convolutions of quantized numbers. Sums of products of 8-bit numbers are
// exact in float64, so they are those of integers.
#include <algorithm>
#include <array>

#include "runtime/ops/builtin.h"
#include "runtime/ops/compose.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kQuantizedConvAttributes[] = {
    {"auto_pad", AttributeKind::kString}, {"dilations", AttributeKind::kInts},
    {"group", AttributeKind::kInt},       {"kernel_shape", AttributeKind::kInts},
    {"pads", AttributeKind::kInts},       {"strides", AttributeKind::kInts},
};

// Where a node has its operands: numbers, zero points and scales; kNone for those it never has.
struct InputPlaces {
  size_t a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero, bias;
};
constexpr size_t kNever = 64;
constexpr InputPlaces kInteger = {0, kNever, 2, 1, kNever, 3, kNever, kNever, kNever};
constexpr InputPlaces kQuantized = {0, 1, 2, 3, 4, 5, 6, 7, 8};

bool IsConv(const OpDef& def) { return def.name == "QLinearConv" || def.name == "ConvInteger"; }
bool IsInteger(const OpDef& def) {
  return def.name == "MatMulInteger" || def.name == "ConvInteger";
}
const InputPlaces& PlacesOf(const OpDef& def) { return IsInteger(def) ? kInteger : kQuantized; }

// Output 0 of the product of the same shapes in float64.
Result<ValueType> ProductType(const InferContext& context, const InputPlaces& places) {
  const std::string_view name = IsConv(context.def()) ? "Conv" : "MatMul";
  std::array<ValueType, 2> types = {context.input(places.a), context.input(places.b)};
  for (ValueType& type : types) type.dtype = DType::kFloat64;
  const ValueType* const inputs[] = {&types[0], &types[1]};
  const Tensor* const constants[] = {nullptr, nullptr};
  std::array<ValueType, 1> output;
  OpDef def = NewestBuiltin(name);
  def.name = context.def().name;
  InferContext product(def, context.module(), context.node(), inputs, constants, output);
  HR_RETURN_IF_ERROR(def.infer(product));
  return output[0];
}

// A zero point or scale is one number, or broadcasts to the operand with an entry for each row of
// `a` or column of `b`; a convolution has one for each of its filters, and only one for images.
Status CheckParameter(const InferContext& context, size_t i, size_t operand, bool is_a) {
  if (i == kNever || !context.has_input(i)) return {};
  const ValueType &given = context.input(i), &x = context.input(operand);
  if (!given.ranked || !x.ranked || x.dims.empty() || given.dims.empty()) return {};
  const bool conv = IsConv(context.def());
  ValueType large = x;
  if (conv || given.rank() == 1) {
    const size_t axis = conv ? 0 : x.dims.size() - (is_a && x.dims.size() > 1 ? 2 : 1);
    large.dims = {conv && is_a ? FixedDim(1) : x.dims[axis]};
  }
  large.dtype = given.dtype;
  return CheckBroadcasts(context, given, large);
}

Status CheckParameters(const InferContext& context, const InputPlaces& places) {
  for (size_t i : {places.a_zero, places.a_scale})
    HR_RETURN_IF_ERROR(CheckParameter(context, i, places.a, true));
  for (size_t i : {places.b_zero, places.b_scale, places.bias})
    HR_RETURN_IF_ERROR(CheckParameter(context, i, places.b, false));
  return {};
}

// Numbers of 8 bits, which in one product may be floats.
Status ExpectSmall(const InferContext& context, size_t i) {
  if (context.def().name == "QLinearMatMul" && IsFloat8(context.input(i).dtype)) return {};
  return context.ExpectDType(i, {DType::kInt8, DType::kUint8});
}

Status CheckNumbers(const InferContext& context, const InputPlaces& places) {
  for (size_t i : {places.a, places.b}) HR_RETURN_IF_ERROR(ExpectSmall(context, i));
  if (context.has_input(places.a_zero)) {
    HR_RETURN_IF_ERROR(context.ExpectSameDType(places.a, places.a_zero));
  }
  if (context.has_input(places.b_zero)) {
    HR_RETURN_IF_ERROR(context.ExpectSameDType(places.b, places.b_zero));
  }
  if (!IsInteger(context.def())) {
    for (size_t i : {places.a_scale, places.b_scale, places.y_scale}) {
      HR_RETURN_IF_ERROR(context.ExpectFloating(i));
    }
    HR_RETURN_IF_ERROR(ExpectSmall(context, places.y_zero));
  }
  if (!context.has_input(places.bias)) return {};
  HR_RETURN_IF_ERROR(context.ExpectRank(places.bias, 1));
  return context.ExpectDType(places.bias, {DType::kInt32});
}

Status InferProduct(InferContext& context) {
  const InputPlaces& places = PlacesOf(context.def());
  HR_RETURN_IF_ERROR(CheckNumbers(context, places));
  HR_ASSIGN_OR_RETURN(ValueType type, ProductType(context, places));
  HR_RETURN_IF_ERROR(CheckParameters(context, places));
  type.dtype = IsInteger(context.def()) ? DType::kInt32 : context.input(places.y_zero).dtype;
  context.SetOutput(0, std::move(type));
  return {};
}

// A scale or zero point that has an entry for each row of `a` or filter of `b`, in a shape that
// broadcasts: [n] → [n, 1, …].
ValueId PerFirst(ComposeContext& c, ValueId value, size_t behind) {
  if (c.Rank(value) != 1 || behind == 0) return value;
  if (c.type(value).dims[0].fixed() && c.type(value).dims[0].size == 1) return value;
  std::vector<int64_t> axes(behind);
  for (size_t i = 0; i < behind; ++i) axes[i] = static_cast<int64_t>(i) + 1;
  return c.Emit("Unsqueeze", {value, c.Ints(axes)});
}

// The numbers without their zero point, in float64.
ValueId Centred(ComposeContext& c, size_t number, size_t zero, size_t behind) {
  const ValueId x = c.Cast(c.input(number), DType::kFloat64);
  if (c.input(zero) == kNone) return x;
  return c.Sub(x, PerFirst(c, c.Cast(c.input(zero), DType::kFloat64), behind));
}

ValueId SumOfProducts(ComposeContext& c, const InputPlaces& places) {
  const bool conv = IsConv(c.def());
  const size_t rank = c.Rank(c.input(places.b));
  if (!c.ok()) return kNone;
  const ValueId inputs[] = {Centred(c, places.a, places.a_zero, conv ? 0 : 1),
                            Centred(c, places.b, places.b_zero, conv ? rank - 1 : 0)};
  const std::vector<graph::Attribute> attributes = c.node().attributes;
  const ValueId sum = c.EmitMany(kOnnx, conv ? "Conv" : "MatMul", inputs, 1, attributes)[0];
  if (c.input(places.bias) == kNone) return sum;
  return c.Add(sum, PerFirst(c, c.Cast(c.input(places.bias), DType::kFloat64), rank - 2));
}

void ComposeInteger(ComposeContext& c) {
  // Convolutions that transform their tiles are a rounding away from the integer.
  const ValueId sum = c.Emit("Round", {SumOfProducts(c, kInteger)});
  c.SetOutput(0, c.Cast(sum, DType::kInt32));
}

void ComposeQuantized(ComposeContext& c) {
  const InputPlaces& at = kQuantized;
  const auto is_whole = [&](size_t i) { return !IsFloat8(c.type(c.input(i)).dtype); };
  const auto rounded = [&](ValueId x, bool whole) { return whole ? c.Emit("Round", {x}) : x; };
  const ValueId sum = rounded(SumOfProducts(c, at), is_whole(at.a) && is_whole(at.b));
  const bool conv = IsConv(c.def());
  const size_t rank = c.Rank(c.input(at.b));
  if (!c.ok()) return;
  const auto scale = [&](size_t i) { return c.Cast(c.input(i), DType::kFloat64); };
  const ValueId a_scale = PerFirst(c, scale(at.a_scale), conv ? 0 : 1);
  const ValueId b_scale = PerFirst(c, scale(at.b_scale), conv ? rank - 2 : 0);
  const ValueId factor = c.Div(c.Mul(a_scale, b_scale), scale(at.y_scale));
  const ValueId zero = c.Cast(c.input(at.y_zero), DType::kFloat64);
  const ValueId y = c.Add(rounded(c.Mul(sum, factor), is_whole(at.y_zero)), zero);
  if (!c.ok()) return;
  const DType to = c.type(c.input(at.y_zero)).dtype;
  if (IsFloat8(to)) return c.SetOutput(0, c.Cast(y, to));
  const double least = to == DType::kInt8 ? -128 : 0;
  c.SetOutput(0, c.Cast(c.Emit("Clip", {y, c.Scalar(least, y), c.Scalar(least + 255, y)}), to));
}

Status InferDynamicQuantize(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectDType(0, {DType::kFloat32}));
  ValueType y = context.input(0);
  y.dtype = DType::kUint8;
  context.SetOutput(0, std::move(y));
  if (context.output_count() > 1) SetDims(context, 1, DType::kFloat32, {});
  if (context.output_count() > 2) SetDims(context, 2, DType::kUint8, {});
  return {};
}

// The range of the numbers and 0 becomes 0 to 255.
void ComposeDynamicQuantize(ComposeContext& c) {
  const ValueId x = c.input(0), zero = c.Scalar(0, x), most = c.Scalar(255, x);
  const auto reduced = [&](Literal name) { return c.Emit(name, {x}, {{"keepdims", int64_t{0}}}); };
  const ValueId least = c.Emit("Min", {reduced("ReduceMin"), zero});
  const ValueId largest = c.Emit("Max", {reduced("ReduceMax"), zero});
  const ValueId range = c.Div(c.Sub(largest, least), most);
  // Zeros alone have no range; any scale holds them.
  const ValueId scale = c.Emit("Where", {c.Emit("Equal", {range, zero}), c.Scalar(1, x), range});
  const auto saturated = [&](ValueId value) { return c.Emit("Clip", {value, zero, most}); };
  const ValueId point = c.Emit("Round", {saturated(c.Neg(c.Div(least, scale)))});
  const ValueId y = saturated(c.Add(c.Emit("Round", {c.Div(x, scale)}), point));
  c.SetOutput(0, c.Cast(y, DType::kUint8));
  c.SetOutput(1, scale);
  c.SetOutput(2, c.Cast(point, DType::kUint8));
}

// Kernels know one number for a whole operand, one for each row of A, and one for each column or
// filter of B.
bool HasProductKernel(const graph::Graph& graph, const Node& node, bool conv,
                      const InputPlaces& places) {
  const auto type = [&](size_t i) -> const ValueType* {
    const bool there = i < node.inputs.size() && node.inputs[i] != kNone;
    return there ? &graph.values[node.inputs[i]].type : nullptr;
  };
  const auto is_one = [](const ValueType& t) {
    return t.ranked &&
           (t.rank() == 0 || (t.rank() == 1 && t.dims[0].fixed() && t.dims[0].size == 1));
  };
  const auto fits = [&](size_t i, bool vector) {
    const ValueType* t = type(i);
    return t == nullptr || is_one(*t) || (vector && t->ranked && t->rank() == 1);
  };
  for (size_t i : {places.a_scale, places.b_scale, places.y_scale}) {
    if (type(i) != nullptr && type(i)->dtype != DType::kFloat32) return false;
  }
  for (size_t i : {places.a, places.b, places.y_zero}) {
    if (type(i) != nullptr && IsFloat8(type(i)->dtype)) return false;
  }
  const bool both = type(places.a_scale) != nullptr && !is_one(*type(places.a_scale)) &&
                    !is_one(*type(places.b_scale));
  return !both && type(places.a)->ranked && type(places.b)->ranked && type(places.b)->rank() <= 5 &&
         fits(places.a_scale, !conv) && fits(places.a_zero, !conv) && fits(places.b_scale, true) &&
         fits(places.b_zero, true) && fits(places.y_scale, false) && fits(places.y_zero, false);
}
template <const InputPlaces& kPlaces, bool kConv>
bool HasKernel(const graph::Graph& graph, const Node& node) {
  return HasProductKernel(graph, node, kConv, kPlaces);
}
bool HasDynamicQuantizeKernel(const graph::Graph&, const Node&) { return true; }

constexpr OpDef Product(Literal name, Arity inputs, std::span<const AttributeDef> attributes,
                        void (*compose)(ComposeContext&),
                        bool (*has_kernel)(const graph::Graph&, const Node&)) {
  return {.domain = kOnnx,
          .name = name,
          .since_version = 10,
          .inputs = inputs,
          .attributes = attributes,
          .infer = InferProduct,
          .compose = compose,
          .has_kernel = has_kernel};
}

constexpr OpDef kQuantizedProductOps[] = {
    Product("MatMulInteger", {2, 4}, {}, ComposeInteger, HasKernel<kInteger, false>),
    Product("ConvInteger", {2, 4}, kQuantizedConvAttributes, ComposeInteger,
            HasKernel<kInteger, true>),
    Product("QLinearMatMul", {8, 8}, {}, ComposeQuantized, HasKernel<kQuantized, false>),
    Product("QLinearConv", {8, 9}, kQuantizedConvAttributes, ComposeQuantized,
            HasKernel<kQuantized, true>),
    {.domain = kOnnx,
     .name = "DynamicQuantizeLinear",
     .since_version = 11,
     .outputs = {1, 3},
     .infer = InferDynamicQuantize,
     .compose = ComposeDynamicQuantize,
     .has_kernel = HasDynamicQuantizeKernel},
};

}  // namespace

OpFamily QuantizedProductOps() { return Chosen<kQuantizedProductOps>(); }

}  // namespace hr::ops
