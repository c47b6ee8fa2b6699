#include "runtime/ops/gradient.h"

#include <algorithm>

#include "runtime/ops/infer.h"

namespace hr::ops {

namespace {

// Returns the item, or kNone if the list is shorter.
ValueId At(std::span<const ValueId> list, size_t i) { return i < list.size() ? list[i] : kNone; }

}  // namespace

const Node& GradientContext::node() const { return emitter_.graph().nodes[node_id_]; }
ValueId GradientContext::input(size_t i) const { return At(node().inputs, i); }
ValueId GradientContext::output(size_t i) const { return At(node().outputs, i); }
ValueId GradientContext::grad(size_t i) const { return At(grads_, i); }
bool GradientContext::wants(size_t i) const { return i < wanted_.size() && wanted_[i]; }
const ValueType& GradientContext::type(ValueId value) const {
  return emitter_.graph().values[value].type;
}

void GradientContext::SetGrad(size_t i, ValueId value) {
  if (i < results_.size()) results_[i] = value;
}

void GradientContext::Fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

ValueId GradientContext::RequireOutput(size_t i) {
  if (!status_.ok()) return kNone;
  return Keep(emitter_.RequireOutput(node_id_, i));
}

ValueId GradientContext::EmitOne(std::string_view domain, std::string_view name, Inputs inputs,
                                 std::vector<graph::Attribute> attributes) {
  return EmitMany(domain, name, {inputs.begin(), inputs.size()}, 1, std::move(attributes))[0];
}

ValueId GradientContext::Emit(Literal name, Inputs inputs, Attributes attributes) {
  return EmitOne(kOnnx, name, inputs, graph::Attributes(attributes));
}

ValueId GradientContext::EmitGrad(Literal name, Inputs inputs, Attributes attributes) {
  return EmitOne(kGrad, name, inputs, graph::Attributes(attributes));
}

ValueId GradientContext::EmitGradAlike(Literal name, Inputs inputs) {
  return EmitOne(kGrad, name, inputs, node().attributes);
}

ValueId GradientContext::Add(ValueId a, ValueId b) { return Emit("Add", {a, b}); }
ValueId GradientContext::Sub(ValueId a, ValueId b) { return Emit("Sub", {a, b}); }
ValueId GradientContext::Mul(ValueId a, ValueId b) { return Emit("Mul", {a, b}); }
ValueId GradientContext::Div(ValueId a, ValueId b) { return Emit("Div", {a, b}); }
ValueId GradientContext::Neg(ValueId a) { return Emit("Neg", {a}); }

std::vector<ValueId> GradientContext::EmitMany(std::string_view domain, std::string_view name,
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

// Returns the value, or kNone if it failed; the failure is kept.
ValueId GradientContext::Keep(Result<ValueId> value) {
  if (value.ok()) return *value;
  Fail(std::move(value).status());
  return kNone;
}

ValueId GradientContext::KeepConstant(Result<Tensor> tensor) {
  if (tensor.ok()) return Keep(emitter_.Constant(std::move(tensor).value()));
  Fail(std::move(tensor).status());
  return kNone;
}

std::optional<std::vector<int64_t>> GradientContext::ConstantInts(ValueId value) const {
  uint32_t constant = value == kNone ? kNone : emitter_.graph().values[value].constant;
  return constant == kNone ? std::nullopt : IntsOf(emitter_.module().constants[constant]);
}

size_t GradientContext::Rank(ValueId value) {
  if (!status_.ok() || value == kNone) return 0;
  if (type(value).ranked) return type(value).dims.size();
  Fail(InvalidArgument("needs to know the rank of ", graph::ValueText(emitter_.graph(), value)));
  return 0;
}

ValueId GradientContext::Scale(ValueId value, double factor) {
  if (!status_.ok() || value == kNone || factor == 1) return value;
  return Mul(value, Scalar(factor, value));
}

ValueId GradientContext::CastLike(ValueId value, ValueId like) {
  if (!status_.ok() || type(value).dtype == type(like).dtype) return value;
  return Emit("Cast", {value}, {{"to", static_cast<int64_t>(type(like).dtype)}});
}

ValueId GradientContext::Scalar(double value, ValueId like) {
  if (!status_.ok() || like == kNone) return kNone;
  if (type(like).dtype == DType::kFloat64) {
    auto tensor = MakeTensor<double>(emitter_.allocator(), {}, std::span<const double>(&value, 1));
    return KeepConstant(std::move(tensor));
  }
  float narrow = static_cast<float>(value);
  auto tensor = MakeTensor<float>(emitter_.allocator(), {}, std::span<const float>(&narrow, 1));
  return CastLike(KeepConstant(std::move(tensor)), like);
}

ValueId GradientContext::ZerosLike(ValueId like) {
  return EmitGrad("ExpandLike", {Scalar(0, like), like});
}

ValueId GradientContext::Ints(std::span<const int64_t> values) {
  if (!status_.ok()) return kNone;
  Dims dims = {static_cast<int64_t>(values.size())};
  auto tensor = MakeTensor<int64_t>(emitter_.allocator(), std::move(dims), values);
  return KeepConstant(std::move(tensor));
}

bool GradientContext::SameShape(ValueId a, ValueId b) const {
  auto known = [](const graph::Dim& dim) { return dim.fixed() || dim.symbol != kNone; };
  const ValueType& from = type(a);
  return from.ranked && type(b).ranked && from.dims == type(b).dims &&
         std::all_of(from.dims.begin(), from.dims.end(), known);
}

ValueId GradientContext::SumTo(ValueId value, ValueId like) {
  if (!status_.ok() || value == kNone || SameShape(value, like)) return value;
  return EmitGrad("SumTo", {value, like});
}

ValueId GradientContext::ReshapeLike(ValueId value, ValueId like) {
  if (!status_.ok() || value == kNone || SameShape(value, like)) return value;
  return EmitGrad("ReshapeLike", {value, like});
}

}  // namespace hr::ops
