#include "runtime/ops/gradient.h"

namespace hr::ops {

ValueId GradientContext::RequireOutput(size_t i) {
  auto value = emitter_.RequireOutput(node_id_, i);
  if (value.ok()) return *value;
  Fail(std::move(value).status());
  return kNone;
}

ValueId GradientContext::EmitIn(std::string_view domain, std::string_view name,
                                std::initializer_list<ValueId> inputs,
                                std::vector<graph::Attribute> attributes) {
  return EmitMany(domain, name, {inputs.begin(), inputs.size()}, 1, std::move(attributes))[0];
}

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

ValueId GradientContext::Scalar(double value, ValueId like) {
  if (!status_.ok()) return kNone;
  DType dtype = type(like).dtype;
  auto tensor = dtype == DType::kFloat64
                    ? MakeTensor<double>(emitter_.allocator(), {}, std::span(&value, 1))
                    : [&] {
                        float narrow = static_cast<float>(value);
                        return MakeTensor<float>(emitter_.allocator(), {}, std::span(&narrow, 1));
                      }();
  if (!tensor.ok()) {
    Fail(std::move(tensor).status());
    return kNone;
  }
  auto constant = emitter_.Constant(std::move(tensor).value());
  if (!constant.ok()) {
    Fail(std::move(constant).status());
    return kNone;
  }
  if (dtype == DType::kFloat64 || dtype == DType::kFloat32) return *constant;
  return Emit("Cast", {*constant}, {{"to", static_cast<int64_t>(dtype)}});
}

ValueId GradientContext::Ints(std::span<const int64_t> values) {
  if (!status_.ok()) return kNone;
  auto tensor = MakeTensor<int64_t>(emitter_.allocator(), {static_cast<int64_t>(values.size())}, values);
  if (!tensor.ok()) {
    Fail(std::move(tensor).status());
    return kNone;
  }
  auto constant = emitter_.Constant(std::move(tensor).value());
  if (!constant.ok()) {
    Fail(std::move(constant).status());
    return kNone;
  }
  return *constant;
}

ValueId GradientContext::SumTo(ValueId value, ValueId like) {
  if (!status_.ok() || value == kNone) return kNone;
  auto from = type(value).FixedDims();
  auto to = type(like).FixedDims();
  if (from && to && *from == *to) return value;
  return EmitIn(kGrad, "SumTo", {value, like});
}

}  // namespace hr::ops
