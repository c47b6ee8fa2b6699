#include "runtime/ops/emit.h"

#include <algorithm>

#include "runtime/ops/infer.h"

namespace hr::ops {

void EmitContext::Fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

ValueId EmitContext::EmitOne(std::string_view domain, std::string_view name, Inputs inputs,
                             std::vector<graph::Attribute> attributes) {
  return EmitMany(domain, name, {inputs.begin(), inputs.size()}, 1, std::move(attributes))[0];
}

ValueId EmitContext::Emit(Literal name, Inputs inputs, Attributes attributes) {
  return EmitOne(kOnnx, name, inputs, graph::Attributes(attributes));
}

ValueId EmitContext::EmitGrad(Literal name, Inputs inputs, Attributes attributes) {
  return EmitOne(kGrad, name, inputs, graph::Attributes(attributes));
}

ValueId EmitContext::EmitGradAlike(Literal name, Inputs inputs) {
  return EmitOne(kGrad, name, inputs, node().attributes);
}

ValueId EmitContext::Add(ValueId a, ValueId b) { return Emit("Add", {a, b}); }
ValueId EmitContext::Sub(ValueId a, ValueId b) { return Emit("Sub", {a, b}); }
ValueId EmitContext::Mul(ValueId a, ValueId b) { return Emit("Mul", {a, b}); }
ValueId EmitContext::Div(ValueId a, ValueId b) { return Emit("Div", {a, b}); }
ValueId EmitContext::Neg(ValueId a) { return Emit("Neg", {a}); }

std::vector<ValueId> EmitContext::EmitMany(std::string_view domain, std::string_view name,
                                           std::span<const ValueId> inputs, size_t outputs,
                                           std::vector<graph::Attribute> attributes) {
  std::vector<ValueId> none(outputs, kNone);
  if (!status_.ok()) return none;
  auto emitted = emitter_.Emit(domain, name, inputs, outputs, std::move(attributes));
  if (!emitted.ok()) {
    Fail(std::move(emitted).status());
    return none;
  }
  return std::move(emitted).value();
}

ValueId EmitContext::Keep(Result<ValueId> value) {
  if (value.ok()) return *value;
  Fail(std::move(value).status());
  return kNone;
}

ValueId EmitContext::KeepConstant(Result<Tensor> tensor) {
  if (tensor.ok()) return Keep(emitter_.Constant(std::move(tensor).value()));
  Fail(std::move(tensor).status());
  return kNone;
}

std::optional<std::vector<int64_t>> EmitContext::ConstantInts(ValueId value) const {
  uint32_t constant = value == kNone ? kNone : emitter_.graph().values[value].constant;
  return constant == kNone ? std::nullopt : IntsOf(emitter_.module().constants[constant]);
}

size_t EmitContext::Rank(ValueId value) {
  if (!status_.ok() || value == kNone) return 0;
  if (type(value).ranked) return type(value).dims.size();
  Fail(FailedPrecondition("needs to know the rank of ", graph::ValueText(emitter_.graph(), value)));
  return 0;
}

const Tensor* EmitContext::TensorOf(Literal attribute) const {
  const graph::AttributeValue* value = node().Find(attribute);
  const auto* index = value == nullptr ? nullptr : std::get_if<graph::TensorIndex>(value);
  const auto& constants = emitter_.module().constants;
  return index == nullptr || index->index >= constants.size() ? nullptr : &constants[index->index];
}

ValueId EmitContext::Scale(ValueId value, double factor) {
  if (!status_.ok() || value == kNone || factor == 1) return value;
  return Mul(value, Scalar(factor, value));
}

ValueId EmitContext::Cast(ValueId value, DType to) {
  if (!ok() || type(value).dtype == to) return value;
  return Emit("Cast", {value}, {{"to", static_cast<int64_t>(to)}});
}

ValueId EmitContext::CastLike(ValueId value, ValueId like) {
  return ok() ? Cast(value, type(like).dtype) : value;
}

ValueId EmitContext::Scalar(double value, ValueId like) {
  if (!status_.ok() || like == kNone) return kNone;
  if (type(like).dtype == DType::kFloat64) {
    auto tensor = MakeTensor<double>(emitter_.allocator(), {}, std::span<const double>(&value, 1));
    return KeepConstant(std::move(tensor));
  }
  float narrow = static_cast<float>(value);
  auto tensor = MakeTensor<float>(emitter_.allocator(), {}, std::span<const float>(&narrow, 1));
  return CastLike(KeepConstant(std::move(tensor)), like);
}

ValueId EmitContext::ZerosLike(ValueId like) {
  return EmitGrad("ExpandLike", {Scalar(0, like), like});
}

ValueId EmitContext::Ints(std::span<const int64_t> values) {
  if (!status_.ok()) return kNone;
  Dims dims = {static_cast<int64_t>(values.size())};
  auto tensor = MakeTensor<int64_t>(emitter_.allocator(), std::move(dims), values);
  return KeepConstant(std::move(tensor));
}

ValueId EmitContext::Floats(std::span<const double> values, Dims dims) {
  if (!status_.ok()) return kNone;
  auto tensor = Tensor::Create(emitter_.allocator(), DType::kFloat32, std::move(dims));
  if (tensor.ok()) {
    std::transform(values.begin(), values.end(), tensor->as<float>(),
                   [](double value) { return static_cast<float>(value); });
  }
  return KeepConstant(std::move(tensor));
}

bool EmitContext::SameShape(ValueId a, ValueId b) const {
  auto known = [](const graph::Dim& dim) { return dim.fixed() || dim.symbol != kNone; };
  const ValueType& from = type(a);
  return from.ranked && type(b).ranked && from.dims == type(b).dims &&
         std::all_of(from.dims.begin(), from.dims.end(), known);
}

ValueId EmitContext::SumTo(ValueId value, ValueId like) {
  if (!status_.ok() || value == kNone || SameShape(value, like)) return value;
  return EmitGrad("SumTo", {value, like});
}

ValueId EmitContext::ReshapeLike(ValueId value, ValueId like) {
  if (!status_.ok() || value == kNone || SameShape(value, like)) return value;
  return EmitGrad("ReshapeLike", {value, like});
}

}  // namespace hr::ops
