#include "runtime/ops/element_op.h"

#include "runtime/ops/op_def.h"

namespace hr::ops {
namespace {

constexpr ElementOpInfo kTable[] = {
#define HR_ROW(name, types, operands, cost, of, ...) \
  {#name, operands, cost, ElementOpInfo::Operator::of, {{__VA_ARGS__}}},
    HR_ELEMENT_OPS(HR_ROW)
#undef HR_ROW
};

}  // namespace

const ElementOpInfo& InfoOf(ElementOp op) { return kTable[static_cast<int>(op)]; }

std::optional<ElementOp> ElementOpOf(std::string_view domain, std::string_view name) {
  using Operator = ElementOpInfo::Operator;
  const Operator of = domain == ops::kOnnx   ? Operator::kOnnx
                      : domain == ops::kGrad ? Operator::kGrad
                                             : Operator::kNone;
  if (of == Operator::kNone) return std::nullopt;
  for (int i = 0; i < kElementOps; ++i) {
    if (kTable[i].of == of && kTable[i].name == name) return static_cast<ElementOp>(i);
  }
  return std::nullopt;
}

}  // namespace hr::ops
