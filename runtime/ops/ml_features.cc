// ai.onnx.ml's operators that prepare features.
#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/ops/attribute_lists.h"
#include "runtime/ops/builtin.h"
#include "runtime/ops/ml_scores.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kScalerAttributes[] = {{"offset", AttributeKind::kFloats},
                                              {"scale", AttributeKind::kFloats}};
constexpr AttributeDef kNorm[] = {{"norm", AttributeKind::kString}};
constexpr AttributeDef kThreshold[] = {{"threshold", AttributeKind::kFloat}};
constexpr AttributeDef kImputerAttributes[] = {{"imputed_value_floats", AttributeKind::kFloats},
                                               {"imputed_value_int64s", AttributeKind::kInts},
                                               {"replaced_value_float", AttributeKind::kFloat},
                                               {"replaced_value_int64", AttributeKind::kInt}};
constexpr AttributeDef kDimensions[] = {{"inputdimensions", AttributeKind::kInts}};

Status ExpectMlNumbers(const InferContext& context, size_t i) {
  return context.ExpectDType(i, {DType::kFloat32, DType::kFloat64, DType::kInt64, DType::kInt32});
}

// Input 0's dimensions in float32.
Status InferFloats(InferContext& context) {
  HR_RETURN_IF_ERROR(ExpectMlNumbers(context, 0));
  ValueType type = context.input(0);
  type.dtype = DType::kFloat32;
  context.SetOutput(0, std::move(type));
  return {};
}

// Fails unless a list has one number for all features of x's last axis, or one for each.
Status CheckPerFeature(const InferContext& context, std::string_view list, size_t size) {
  HR_RETURN_IF_ERROR(context.ExpectRankAtLeast(0, 1));
  const ValueType& x = context.input(0);
  if (size == 1) return {};
  if (size == 0) return InvalidArgument(context.def().name, " wants the attribute '", list, "'");
  if (!x.ranked || !x.dims.back().fixed() || x.dims.back().size == static_cast<int64_t>(size)) {
    return {};
  }
  return InvalidArgument(context.def().name, "'s '", list, "' has a number for each of ",
                         x.dims.back().size, " features, or one for all; got ", size);
}

Status InferScaler(InferContext& context) {
  const auto offset = FloatsOf(context.node(), "offset"), scale = FloatsOf(context.node(), "scale");
  HR_RETURN_IF_ERROR(CheckPerFeature(context, "offset", std::max<size_t>(offset.size(), 1)));
  HR_RETURN_IF_ERROR(CheckPerFeature(context, "scale", std::max<size_t>(scale.size(), 1)));
  return InferFloats(context);
}

// (x - offset) scale
void ComposeScaler(ComposeContext& c) {
  const auto given_offset = FloatsOf(c.node(), "offset"), given_scale = FloatsOf(c.node(), "scale");
  const std::vector<double> offset(given_offset.begin(), given_offset.end());
  const std::vector<double> scale(given_scale.begin(), given_scale.end());
  ValueId x = c.Cast(c.input(0), DType::kFloat32);
  if (!offset.empty()) x = c.Sub(x, c.Floats(offset, {static_cast<int64_t>(offset.size())}));
  if (!scale.empty()) x = c.Mul(x, c.Floats(scale, {static_cast<int64_t>(scale.size())}));
  c.SetOutput(0, c.Emit("Identity", {x}));
}

Status InferNormalizer(InferContext& context) {
  if (!IsOneOf(context.node().String("norm", "MAX"), {"MAX", "L1", "L2"})) {
    return InvalidArgument("Normalizer's 'norm' is MAX, L1 or L2, got '",
                           context.node().String("norm", ""), "'");
  }
  HR_RETURN_IF_ERROR(context.ExpectRankAtLeast(0, 1));
  return InferFloats(context);
}

// Each row by its norm; rows whose norm is 0 stay.
void ComposeNormalizer(ComposeContext& c) {
  const std::string_view norm = c.node().String("norm", "MAX");
  const std::array<int64_t, 1> last = {-1};
  const bool first = norm == "L1", second = norm == "L2";
  const ValueId x = c.Cast(c.input(0), DType::kFloat32);
  const ValueId size = first    ? c.Reduce("ReduceL1", x, last)
                       : second ? c.Reduce("ReduceL2", x, last)
                                : c.Reduce("ReduceMax", x, last);
  const ValueId none = c.CastLike(c.Emit("Equal", {size, c.Scalar(0, size)}), size);
  c.SetOutput(0, c.Div(x, c.Add(size, none)));
}

Status InferBinarizer(InferContext& context) {
  HR_RETURN_IF_ERROR(ExpectMlNumbers(context, 0));
  return InferSameAsInput(context);
}

// 1 above the threshold, else 0.
void ComposeBinarizer(ComposeContext& c) {
  const ValueId x = c.input(0);
  const double threshold = c.node().Float("threshold", 0);
  const bool floating = c.ok() && IsFloating(c.type(x).dtype);
  const ValueId numbers = floating ? x : c.Cast(x, DType::kFloat64);
  c.SetOutput(0, c.CastLike(c.Emit("Greater", {numbers, c.Scalar(threshold, numbers)}), x));
}

Status InferImputer(InferContext& context) {
  HR_RETURN_IF_ERROR(ExpectMlNumbers(context, 0));
  const bool floating = IsFloating(context.input(0).dtype);
  const size_t size = floating ? FloatsOf(context.node(), "imputed_value_floats").size()
                               : context.node().Ints("imputed_value_int64s").size();
  HR_RETURN_IF_ERROR(
      CheckPerFeature(context, floating ? "imputed_value_floats" : "imputed_value_int64s", size));
  return InferSameAsInput(context);
}

// A value of each feature where it has the one that is replaced; NaN is replaced by name.
void ComposeImputer(ComposeContext& c) {
  const ValueId x = c.input(0);
  if (!c.ok()) return;
  if (!IsFloating(c.type(x).dtype)) {
    const auto given = c.node().Ints("imputed_value_int64s");
    const std::vector<int64_t> values(given.begin(), given.end());
    const int64_t replaced = c.node().Int("replaced_value_int64", 0);
    const DType dtype = c.type(x).dtype;
    const ValueId wide = c.Cast(x, DType::kInt64);
    const ValueId old = c.Emit("Equal", {wide, c.Int(replaced)});
    return c.SetOutput(0, c.Cast(c.Emit("Where", {old, c.Ints(values), wide}), dtype));
  }
  const auto given = FloatsOf(c.node(), "imputed_value_floats");
  const std::vector<double> values(given.begin(), given.end());
  const double replaced = c.node().Float("replaced_value_float", 0);
  const ValueId fresh = c.CastLike(c.Floats(values, {static_cast<int64_t>(values.size())}), x);
  const ValueId old =
      std::isnan(replaced) ? c.Emit("IsNaN", {x}) : c.Emit("Equal", {x, c.Scalar(replaced, x)});
  c.SetOutput(0, c.Emit("Where", {old, fresh, x}));
}

// (x [N, features]…, of 1 axis: one row) → [N, all features]
Status InferFeatureVectorizer(InferContext& context) {
  const auto sizes = context.node().Ints("inputdimensions");
  if (!sizes.empty() && sizes.size() != context.input_count()) {
    return InvalidArgument("FeatureVectorizer has ", context.input_count(), " inputs and ",
                           sizes.size(), " inputdimensions; give as many");
  }
  Dim rows, all = FixedDim(0);
  for (size_t i = 0; i < context.input_count(); ++i) {
    HR_RETURN_IF_ERROR(ExpectMlNumbers(context, i));
    const ValueType& x = context.input(i);
    if (x.ranked && x.rank() != 1 && x.rank() != 2) {
      return InvalidArgument("FeatureVectorizer takes rank 1 or 2, got ", context.InputText(i));
    }
    Dim features = x.ranked ? x.dims.back() : Dim();
    if (!sizes.empty()) {
      HR_ASSIGN_OR_RETURN(features, EqualDims(context, "the features and inputdimensions", features,
                                              FixedDim(sizes[i])));
    }
    if (x.ranked) {
      HR_ASSIGN_OR_RETURN(
          rows, EqualDims(context, "the rows", rows, x.rank() == 1 ? FixedDim(1) : x.dims[0]));
    }
    HR_ASSIGN_OR_RETURN(all, SumDims(context, all, features));
  }
  SetDims(context, 0, DType::kFloat32, {rows, all});
  return {};
}

void ComposeFeatureVectorizer(ComposeContext& c) {
  std::vector<ValueId> parts;
  for (size_t i = 0; i < c.input_count(); ++i) parts.push_back(FeatureRows(c, c.input(i)));
  c.SetOutput(0, c.Concat(parts, 1));
}

// (x [..., features], which [k]) → [..., k]; x [features] is one row
Status InferArrayFeatureExtractor(InferContext& context) {
  HR_RETURN_IF_ERROR(ExpectMlNumbers(context, 0));
  HR_RETURN_IF_ERROR(context.ExpectDType(1, {DType::kInt64}));
  HR_RETURN_IF_ERROR(context.ExpectRankAtLeast(0, 1));
  const ValueType &x = context.input(0), &which = context.input(1);
  if (!x.ranked || !which.ranked) {
    context.SetUnranked(0, x.dtype);
    return {};
  }
  std::vector<Dim> dims = x.dims;
  if (dims.size() == 1) dims.insert(dims.begin(), FixedDim(1));
  HR_ASSIGN_OR_RETURN(dims.back(), Product(context, which.dims));
  SetDims(context, 0, x.dtype, std::move(dims));
  return {};
}

void ComposeArrayFeatureExtractor(ComposeContext& c) {
  const ValueId x = c.input(0);
  const ValueId rows = c.Rank(x) == 1 ? c.Unsqueeze(x, 0) : x;
  const ValueId which = c.Emit("Reshape", {c.input(1), c.Int(-1)});
  c.SetOutput(0, c.Emit("Gather", {rows, which}, {{"axis", int64_t{-1}}}));
}

constexpr OpDef kMlFeatureOps[] = {
    {.domain = kMl,
     .name = "Scaler",
     .attributes = kScalerAttributes,
     .infer = InferScaler,
     .compose = ComposeScaler},
    {.domain = kMl,
     .name = "Normalizer",
     .attributes = kNorm,
     .infer = InferNormalizer,
     .compose = ComposeNormalizer},
    {.domain = kMl,
     .name = "Binarizer",
     .attributes = kThreshold,
     .infer = InferBinarizer,
     .compose = ComposeBinarizer},
    {.domain = kMl,
     .name = "Imputer",
     .attributes = kImputerAttributes,
     .infer = InferImputer,
     .compose = ComposeImputer},
    {.domain = kMl,
     .name = "FeatureVectorizer",
     .inputs = {1, kUnlimited},
     .attributes = kDimensions,
     .infer = InferFeatureVectorizer,
     .compose = ComposeFeatureVectorizer},
    {.domain = kMl,
     .name = "ArrayFeatureExtractor",
     .inputs = {2, 2},
     .infer = InferArrayFeatureExtractor,
     .compose = ComposeArrayFeatureExtractor},
};

}  // namespace

OpFamily MlFeatureOps() { return Chosen<kMlFeatureOps>(); }

}  // namespace hr::ops
