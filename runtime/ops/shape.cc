// Shapes as values.
#include <algorithm>

#include "runtime/ops/builtin.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kRange[] = {{"start", AttributeKind::kInt}, {"end", AttributeKind::kInt}};

Status InferShape(InferContext& context) {
  const ValueType& x = context.input(0);
  if (!x.ranked) {
    SetDims(context, 0, DType::kInt64, {Dim{}});
    return {};
  }
  auto position = [&](Literal name, int64_t otherwise) {
    int64_t given = context.node().Int(name, otherwise);
    return std::clamp<int64_t>(given < 0 ? given + x.rank() : given, 0, x.rank());
  };
  int64_t length = std::max<int64_t>(0, position("end", x.rank()) - position("start", 0));
  SetDims(context, 0, DType::kInt64, {FixedDim(length)});
  return {};
}

Status InferSize(InferContext& context) {
  context.SetOutput(0, ValueType::Tensor(DType::kInt64, {}));
  return {};
}

constexpr OpDef kShapeOps[] = {
    {.domain = kOnnx, .name = "Shape", .type_only_inputs = 1, .infer = InferShape},
    {.domain = kOnnx,
     .name = "Shape",
     .since_version = 15,
     .type_only_inputs = 1,
     .attributes = kRange,
     .infer = InferShape},
    {.domain = kOnnx, .name = "Size", .type_only_inputs = 1, .infer = InferSize},
};

}  // namespace

OpFamily ShapeOps() { return Chosen<kShapeOps>(); }

}  // namespace hr::ops
