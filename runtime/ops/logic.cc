// Comparisons and logic with broadcasting, and Where.
#include "runtime/ops/builtin.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/infer.h"

namespace hr::ops {
namespace {

Status InferEqual(InferContext& context) {
  HR_ASSIGN_OR_RETURN(ValueType out, BroadcastInputs(context));
  out.dtype = DType::kBool;
  context.SetOutput(0, std::move(out));
  return {};
}

constexpr OpDef kOps[] = {
    {.domain = kOnnx, .name = "Equal", .since_version = 11, .inputs = {2, 2}, .infer = InferEqual},
};

}  // namespace

std::span<const OpDef> LogicOps() { return kOps; }

}  // namespace hr::ops
