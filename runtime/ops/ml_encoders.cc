// ai.onnx.ml's encoders: numbers in the place of others, composed of a table of keys. Strings do
// not run here.
#include <algorithm>
#include <array>

#include "runtime/ops/attribute_lists.h"
#include "runtime/ops/builtin.h"
#include "runtime/ops/compose.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kLabelAttributes[] = {
    {"default_int64", AttributeKind::kInt},      {"default_float", AttributeKind::kFloat},
    {"default_string", AttributeKind::kString},  {"keys_int64s", AttributeKind::kInts},
    {"keys_floats", AttributeKind::kFloats},     {"keys_strings", AttributeKind::kStrings},
    {"values_int64s", AttributeKind::kInts},     {"values_floats", AttributeKind::kFloats},
    {"values_strings", AttributeKind::kStrings}, {"keys_tensor", AttributeKind::kTensor},
    {"values_tensor", AttributeKind::kTensor},   {"default_tensor", AttributeKind::kTensor},
};
// Version 4 has tensors.
constexpr auto kLabel2Attributes = std::span(kLabelAttributes).first(9);
constexpr AttributeDef kOneHotAttributes[] = {{"cats_int64s", AttributeKind::kInts},
                                              {"cats_strings", AttributeKind::kStrings},
                                              {"zeros", AttributeKind::kInt}};

// ---- LookUp ----

// (x, keys [n], values [n], other [1]) → x's shape, values' type
Status InferLookUp(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectDType(
      0, {DType::kFloat32, DType::kFloat64, DType::kInt16, DType::kInt32, DType::kInt64}));
  HR_RETURN_IF_ERROR(context.ExpectSameDType(0, 1));
  HR_RETURN_IF_ERROR(context.ExpectSameDType(2, 3));
  HR_RETURN_IF_ERROR(context.ExpectRank(1, 1));
  HR_RETURN_IF_ERROR(context.ExpectRank(2, 1));
  const ValueType &keys = context.input(1), &values = context.input(2);
  if (keys.ranked && values.ranked) {
    HR_RETURN_IF_ERROR(
        EqualDims(context, "the keys and values", keys.dims[0], values.dims[0]).status());
  }
  if (context.input(3).ranked) {
    HR_ASSIGN_OR_RETURN(const Dim others, Product(context, context.input(3).dims));
    HR_RETURN_IF_ERROR(EqualDims(context, "the other value", others, FixedDim(1)).status());
  }
  ValueType type = context.input(0);
  type.dtype = values.dtype;
  context.SetOutput(0, std::move(type));
  return {};
}

// ---- LabelEncoder ----

Status RefuseStrings(const InferContext& context, std::initializer_list<Literal> lists) {
  for (Literal list : lists) {
    if (StringsOf(context.node(), list).empty()) continue;
    return Unimplemented(context.def().name, "'s '", std::string_view(list),
                         "' are strings, which do not run here; encode them before");
  }
  return {};
}

// The type of the keys or values: that of the one list or tensor that is given.
Result<DType> TypeOf(const InferContext& context, Literal ints, Literal floats, Literal tensor) {
  const Node& node = context.node();
  if (node.Find(tensor) != nullptr) {
    HR_ASSIGN_OR_RETURN(const Tensor* held, context.TensorOf(tensor));
    return held->dtype();
  }
  if (!FloatsOf(node, floats).empty()) return DType::kFloat32;
  if (!node.Ints(ints).empty()) return DType::kInt64;
  return InvalidArgument("LabelEncoder has neither '", std::string_view(ints), "' nor '",
                         std::string_view(floats), "'");
}

Status InferLabelEncoder(InferContext& context) {
  HR_RETURN_IF_ERROR(RefuseStrings(context, {"keys_strings", "values_strings"}));
  HR_ASSIGN_OR_RETURN(const DType keys,
                      TypeOf(context, "keys_int64s", "keys_floats", "keys_tensor"));
  HR_ASSIGN_OR_RETURN(const DType values,
                      TypeOf(context, "values_int64s", "values_floats", "values_tensor"));
  HR_RETURN_IF_ERROR(context.ExpectDType(0, {keys}));
  ValueType type = context.input(0);
  type.dtype = values;
  context.SetOutput(0, std::move(type));
  return {};
}

// A list or a tensor as a 1-D constant.
ValueId ConstantList(ComposeContext& c, Literal ints, Literal floats, Literal tensor) {
  if (const Tensor* held = c.TensorOf(tensor)) {
    return c.Emit("Reshape", {c.Constant(Tensor(*held)), c.Int(-1)});
  }
  const auto numbers = FloatsOf(c.node(), floats);
  const std::vector<double> reals(numbers.begin(), numbers.end());
  if (!reals.empty()) return c.Floats(reals, {static_cast<int64_t>(reals.size())});
  const auto given = c.node().Ints(ints);
  return c.Ints(std::vector<int64_t>(given.begin(), given.end()));
}

ValueId DefaultOf(ComposeContext& c, ValueId values) {
  if (const Tensor* held = c.TensorOf("default_tensor")) {
    return c.Emit("Reshape", {c.Constant(Tensor(*held)), c.Int(-1)});
  }
  if (!c.ok()) return kNone;
  const bool floating = IsFloating(c.type(values).dtype);
  const std::array<double, 1> real = {c.node().Float("default_float", 0)};
  if (floating) return c.CastLike(c.Floats(real, {1}), values);
  return c.CastLike(c.Int(c.node().Int("default_int64", -1)), values);
}

void ComposeLabelEncoder(ComposeContext& c) {
  const ValueId keys = ConstantList(c, "keys_int64s", "keys_floats", "keys_tensor");
  const ValueId values = ConstantList(c, "values_int64s", "values_floats", "values_tensor");
  const ValueId inputs[] = {c.input(0), keys, values, DefaultOf(c, values)};
  c.SetOutput(0, c.EmitMany(kTrees, "LookUp", inputs, 1, {})[0]);
}

// ---- OneHotEncoder ----

Status InferOneHotEncoder(InferContext& context) {
  HR_RETURN_IF_ERROR(RefuseStrings(context, {"cats_strings"}));
  HR_RETURN_IF_ERROR(
      context.ExpectDType(0, {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64}));
  const auto categories = static_cast<int64_t>(context.node().Ints("cats_int64s").size());
  if (categories == 0) return InvalidArgument("OneHotEncoder wants categories in 'cats_int64s'");
  if (context.node().Int("zeros", 1) == 0) {
    return Unimplemented(
        "OneHotEncoder with zeros=0 refuses rows whose category is unknown, "
        "which does not run here; with zeros=1 they are 0");
  }
  const ValueType& x = context.input(0);
  if (!x.ranked) {
    context.SetUnranked(0, DType::kFloat32);
    return {};
  }
  std::vector<Dim> dims = x.dims;
  dims.push_back(FixedDim(categories));
  SetDims(context, 0, DType::kFloat32, std::move(dims));
  return {};
}

// 1 at the category, counted as whole numbers; nothing for one that is not known.
void ComposeOneHotEncoder(ComposeContext& c) {
  const auto given = c.node().Ints("cats_int64s");
  const ValueId categories = c.Ints(std::vector<int64_t>(given.begin(), given.end()));
  const ValueId x = c.Unsqueeze(c.Cast(c.input(0), DType::kInt64), -1);
  c.SetOutput(0, c.Cast(c.Emit("Equal", {x, categories}), DType::kFloat32));
}

constexpr OpDef kMlEncoderOps[] = {
    {.domain = kTrees, .name = "LookUp", .inputs = {4, 4}, .infer = InferLookUp},
    {.domain = kMl,
     .name = "LabelEncoder",
     .since_version = 2,
     .attributes = kLabel2Attributes,
     .infer = InferLabelEncoder,
     .compose = ComposeLabelEncoder},
    {.domain = kMl,
     .name = "LabelEncoder",
     .since_version = 4,
     .attributes = kLabelAttributes,
     .infer = InferLabelEncoder,
     .compose = ComposeLabelEncoder},
    {.domain = kMl,
     .name = "OneHotEncoder",
     .attributes = kOneHotAttributes,
     .infer = InferOneHotEncoder,
     .compose = ComposeOneHotEncoder},
};

}  // namespace

OpFamily MlEncoderOps() { return Chosen<kMlEncoderOps>(); }

}  // namespace hr::ops
