// Changing the element type.
#include "runtime/ops/builtin.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/infer.h"

namespace hr::ops {
namespace {

// `saturate` concerns 8-bit floats only, `round_mode` one that tensors cannot hold.
constexpr AttributeDef kCastAttributes[] = {{"round_mode", AttributeKind::kString},
                                            {"saturate", AttributeKind::kFlag},
                                            {"to", AttributeKind::kInt, true}};
constexpr std::span<const AttributeDef> kOfBytes = std::span(kCastAttributes).first(2);
constexpr std::span<const AttributeDef> kCastTo = std::span(kCastAttributes).last(1);

Status InferCast(InferContext& context) {
  auto to = static_cast<DType>(context.node().Int("to", 0));
  if (!IsSupported(to)) {
    return InvalidArgument("Cast's attribute 'to' names no type that tensors can have: ",
                           context.node().Int("to", 0), " (", DTypeName(to), ")");
  }
  ValueType out = context.input(0);
  out.dtype = to;
  context.SetOutput(0, std::move(out));
  return {};
}

Status InferCastLike(InferContext& context) {
  ValueType out = context.input(0);
  out.dtype = context.input(1).dtype;
  context.SetOutput(0, std::move(out));
  return {};
}

void CastBack(GradientContext& g) { g.SetGrad(0, g.CastLike(g.grad(0), g.input(0))); }

constexpr OpDef kCastOps[] = {
    {.domain = kOnnx,
     .name = "Cast",
     .since_version = 9,
     .attributes = kCastTo,
     .infer = InferCast,
     .gradient = CastBack},
    {.domain = kOnnx,
     .name = "Cast",
     .since_version = 19,
     .attributes = kCastAttributes,
     .infer = InferCast,
     .gradient = CastBack},
    // (x, like) → x with the element type of like
    {.domain = kOnnx,
     .name = "CastLike",
     .since_version = 15,
     .inputs = {2, 2},
     .type_only_inputs = 1u << 1,
     .infer = InferCastLike,
     .gradient = CastBack},
    {.domain = kOnnx,
     .name = "CastLike",
     .since_version = 19,
     .inputs = {2, 2},
     .type_only_inputs = 1u << 1,
     .attributes = kOfBytes,
     .infer = InferCastLike,
     .gradient = CastBack},
};

}  // namespace

OpFamily CastOps() { return Chosen<kCastOps>(); }

}  // namespace hr::ops
