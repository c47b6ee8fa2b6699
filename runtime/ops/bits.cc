// The bits of integers, and elements read as those of another type.
#include "runtime/ops/builtin.h"
#include "runtime/ops/infer.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kDirection[] = {{"direction", AttributeKind::kString, true}};
constexpr AttributeDef kTo[] = {{"to", AttributeKind::kInt, true}};

Status InferBits(InferContext& context) {
  if (IsInteger(context.input(0).dtype)) return InferBroadcast(context);
  return InvalidArgument(context.def().name, " takes integers, got ", context.InputText(0));
}

Status InferBitShift(InferContext& context) {
  const std::string_view direction = context.node().String("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    return InvalidArgument("BitShift's 'direction' is LEFT or RIGHT, got '", direction, "'");
  }
  HR_RETURN_IF_ERROR(
      context.ExpectDType(0, {DType::kUint8, DType::kUint16, DType::kUint32, DType::kUint64}));
  return InferBits(context);
}

Status InferBitCast(InferContext& context) {
  ValueType type = context.input(0);
  const auto to = static_cast<DType>(context.node().Int("to", 0));
  if (!IsSupported(to) || to == DType::kBool || DTypeSize(to) != DTypeSize(type.dtype)) {
    return InvalidArgument("BitCast goes to a type of ", DTypeSize(type.dtype),
                           " bytes as that of ", context.InputText(0), ", got ", DTypeName(to));
  }
  type.dtype = to;
  context.SetOutput(0, std::move(type));
  return {};
}

constexpr OpDef Binary(Literal name) {
  return {.domain = kOnnx, .name = name, .since_version = 18, .inputs = {2, 2}, .infer = InferBits};
}

constexpr OpDef kBitOps[] = {
    Binary("BitwiseAnd"),
    Binary("BitwiseOr"),
    Binary("BitwiseXor"),
    {.domain = kOnnx, .name = "BitwiseNot", .since_version = 18, .infer = InferBits},
    {.domain = kOnnx,
     .name = "BitShift",
     .since_version = 11,
     .inputs = {2, 2},
     .attributes = kDirection,
     .infer = InferBitShift},
    {.domain = kOnnx,
     .name = "BitCast",
     .since_version = 26,
     .attributes = kTo,
     .infer = InferBitCast},
};

}  // namespace

OpFamily BitOps() { return Chosen<kBitOps>(); }

}  // namespace hr::ops
