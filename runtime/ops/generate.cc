// Values made from nothing but attributes, shapes and scalars.
#include <cmath>

#include "runtime/ops/builtin.h"
#include "runtime/ops/constant_node.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kConstantAttributes[] = {
    {"value", AttributeKind::kTensor},        {"value_float", AttributeKind::kFloat},
    {"value_floats", AttributeKind::kFloats}, {"value_int", AttributeKind::kInt},
    {"value_ints", AttributeKind::kInts},
};
constexpr AttributeDef kValue[] = {{"value", AttributeKind::kTensor}};
constexpr AttributeDef kEyeAttributes[] = {{"dtype", AttributeKind::kInt},
                                           {"k", AttributeKind::kInt}};

Status InferConstant(InferContext& context) {
  const Node& node = context.node();
  if (node.attributes.size() != 1) {
    return InvalidArgument("Constant wants one of its attributes, got ", node.attributes.size());
  }
  auto one_dimension = [](const auto& list) { return Dims{static_cast<int64_t>(list.size())}; };
  if (node.Find("value") != nullptr) {
    HR_ASSIGN_OR_RETURN(const Tensor* tensor, context.TensorOf("value"));
    context.SetOutput(0, ValueType::Tensor(tensor->dtype(), tensor->dims()));
  } else if (node.Find("value_float") != nullptr) {
    context.SetOutput(0, ValueType::Tensor(DType::kFloat32, {}));
  } else if (node.Find("value_int") != nullptr) {
    context.SetOutput(0, ValueType::Tensor(DType::kInt64, {}));
  } else if (const auto* floats = std::get_if<std::vector<double>>(&node.attributes[0].value)) {
    context.SetOutput(0, ValueType::Tensor(DType::kFloat32, one_dimension(*floats)));
  } else {
    context.SetOutput(0, ValueType::Tensor(DType::kInt64, one_dimension(node.Ints("value_ints"))));
  }
  return {};
}

Status InferConstantOfShape(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectDType(0, {DType::kInt64}));
  HR_RETURN_IF_ERROR(context.ExpectRank(0, 1));
  DType dtype = DType::kFloat32;
  if (context.node().Find("value") != nullptr) {
    HR_ASSIGN_OR_RETURN(const Tensor* tensor, context.TensorOf("value"));
    if (tensor->elements() != 1) {
      return InvalidArgument("ConstantOfShape's attribute 'value' has one element, got ",
                             tensor->TypeText());
    }
    dtype = tensor->dtype();
  }
  auto dims = DimsFromShapeInput(context, 0);
  if (dims)
    SetDims(context, 0, dtype, std::move(*dims));
  else
    context.SetUnranked(0, dtype);
  return {};
}

// A scalar, or a list of one number, which models have, too.
Status ExpectNumber(const InferContext& context, size_t i) {
  const ValueType& type = context.input(i);
  const bool one = type.rank() == 1 && (!type.dims[0].fixed() || type.dims[0].size == 1);
  if (!type.ranked || type.rank() == 0 || one) return {};
  return InvalidArgument(context.def().name, " takes one number as input ", i, ", got ",
                         context.Text(type));
}

Status InferRange(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectNumeric(0));
  for (size_t i : {0, 1, 2}) {
    HR_RETURN_IF_ERROR(context.ExpectSameDType(0, i));
    HR_RETURN_IF_ERROR(ExpectNumber(context, i));
  }
  auto start = context.ConstantNumber(0);
  auto limit = context.ConstantNumber(1);
  auto delta = context.ConstantNumber(2);
  if (delta && *delta == 0) return InvalidArgument("Range's delta is not 0");
  Dim length;
  if (start && limit && delta) {
    double count = std::ceil((*limit - *start) / *delta);
    if (!(count < 0x1p62)) return InvalidArgument("Range makes too many elements");
    length = FixedDim(count > 0 ? static_cast<int64_t>(count) : 0);
  }
  SetDims(context, 0, context.input(0).dtype, {length});
  return {};
}

Status InferEyeLike(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectRank(0, 2));
  ValueType out = context.input(0);
  out.dtype = static_cast<DType>(context.node().Int("dtype", static_cast<int64_t>(out.dtype)));
  if (!IsSupported(out.dtype)) return InvalidArgument("EyeLike's attribute 'dtype' names no type");
  context.SetOutput(0, std::move(out));
  return {};
}

constexpr OpDef kGenerateOps[] = {
    {.domain = kOnnx,
     .name = "Constant",
     .since_version = 1,
     .inputs = {0, 0},
     .attributes = kConstantAttributes,
     .infer = InferConstant},
    // (shape); value defaults to float32 0
    {.domain = kOnnx,
     .name = "ConstantOfShape",
     .since_version = 9,
     .attributes = kValue,
     .infer = InferConstantOfShape},
    // (start [], limit [], delta [])
    {.domain = kOnnx, .name = "Range", .since_version = 11, .inputs = {3, 3}, .infer = InferRange},
    {.domain = kOnnx,
     .name = "EyeLike",
     .since_version = 9,
     .type_only_inputs = 1,
     .attributes = kEyeAttributes,
     .infer = InferEyeLike},
};

}  // namespace

OpFamily GenerateOps() { return Chosen<kGenerateOps>(); }

bool IsConstantNode(const graph::Operator& op) {
  return op.domain == kOnnx && op.name == "Constant";
}

Result<Tensor> ValueOfConstantNode(const graph::Module& module, const Node& node) {
  Allocator& allocator = SystemAllocator();
  const auto length = [](const auto& list) { return Dims{static_cast<int64_t>(list.size())}; };
  if (const auto* value = node.Find("value")) {
    return module.constants[std::get<graph::TensorIndex>(*value).index];
  }
  if (node.Find("value_int") != nullptr) {
    const int64_t number = node.Int("value_int", 0);
    return MakeTensor<int64_t>(allocator, {}, {&number, 1});
  }
  if (node.Find("value_ints") != nullptr) {
    const auto ints = node.Ints("value_ints");
    return MakeTensor<int64_t>(allocator, length(ints), ints);
  }
  std::vector<float> numbers = {static_cast<float>(node.Float("value_float", 0))};
  if (node.Find("value_float") != nullptr) return MakeTensor<float>(allocator, {}, numbers);
  const auto& floats = std::get<std::vector<double>>(*node.Find("value_floats"));
  numbers.assign(floats.begin(), floats.end());
  return MakeTensor<float>(allocator, length(numbers), numbers);
}

}  // namespace hr::ops
