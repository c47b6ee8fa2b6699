#include "runtime/transform/formula.h"

#include "runtime/base/errors.h"
#include "runtime/device/zeros.h"

namespace hr::transform {
namespace {

constexpr ops::OpDef kNoOperator{.domain = "", .name = "formula"};

}  // namespace

Formula::Formula(GraphBuilder& builder, std::string scope)
    : EmitContext(kNoOperator, builder, kNone, {}), builder_(builder) {
  builder_.SetScope(std::move(scope));
}

template <typename T>
ValueId Formula::ConstantOf(T value) {
  auto tensor = MakeTensor<T>(builder_.allocator(), {}, std::span<const T>(&value, 1));
  if (tensor.ok()) return Keep(builder_.Constant(std::move(tensor).value()));
  Fail(std::move(tensor).status());
  return kNone;
}

ValueId Formula::Number(double value, DType dtype) {
  if (!ok()) return kNone;
  if (dtype == DType::kFloat64) return ConstantOf<double>(value);
  return Cast(ConstantOf<float>(static_cast<float>(value)), dtype);
}

ValueId Formula::Integer(int64_t value) { return ok() ? ConstantOf<int64_t>(value) : kNone; }

ValueId Formula::Cast(ValueId value, DType to) {
  if (!ok() || type(value).dtype == to) return value;
  return Emit("Cast", {value}, {{"to", static_cast<int64_t>(to)}});
}

ValueId Formula::ReduceAll(Literal op, ValueId value) {
  return Emit(op, {value}, {{"keepdims", int64_t{0}}});
}

ValueId Formula::SizeOf(ValueId value, DType dtype) { return Cast(Emit("Size", {value}), dtype); }

uint32_t Formula::Zeros(const std::string& name, DType dtype, const Dims& dims) {
  if (!ok()) return kNone;
  auto zeros = MakeZeros(builder_.allocator(), dtype, dims);
  if (!zeros.ok()) return Fail(std::move(zeros).status()), kNone;
  return Keep(builder_.AddVariable(name, std::move(zeros).value(), false));
}

ValueId Formula::AtStart(uint32_t variable) {
  return ok() ? Keep(builder_.ReadAtStart(variable)) : kNone;
}

ValueId Formula::After(uint32_t variable, NodeId node) {
  if (!ok()) return kNone;
  const NodeId read =
      Keep(builder_.AddNode({.domain = std::string(ops::kState),
                             .op = "Read",
                             .attributes = graph::Attributes({{"variable", int64_t{variable}}}),
                             .controls = {node},
                             .chained = false}));
  return ok() ? builder_.graph().nodes[read].outputs[0] : kNone;
}

NodeId Formula::Assign(uint32_t variable, ValueId value, NodeId after) {
  if (!ok()) return kNone;
  NodeSpec spec{.domain = std::string(ops::kState),
                .op = "Assign",
                .inputs = {value},
                .outputs = 0,
                .attributes = graph::Attributes({{"variable", int64_t{variable}}}),
                .chained = false};
  if (after != kNone) spec.controls.push_back(after);
  return Keep(builder_.AddNode(std::move(spec)));
}

}  // namespace hr::transform
