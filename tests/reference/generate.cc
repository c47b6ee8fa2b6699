#include <algorithm>
#include <cmath>

#include "tests/reference/functions.h"

namespace hr::reference {
namespace {

Array AttributeTensor(const Call& call, Literal attribute) {
  const auto& index = std::get<graph::TensorIndex>(*call.node.Find(attribute));
  return FromTensor(call.module.constants.at(index.index));
}

template <typename T>
Array List(DType dtype, const std::vector<T>& values) {
  Array out(dtype, {static_cast<int64_t>(values.size())});
  out.data.assign(values.begin(), values.end());
  return out;
}

void Constant(Call& call) {
  const graph::Node& node = call.node;
  if (node.Find("value") != nullptr) return call.Out(0, AttributeTensor(call, "value"));
  if (node.Find("value_int") != nullptr) {
    return call.Out(0, Array(DType::kInt64, {}, call.Int("value_int", 0)));
  }
  if (node.Find("value_float") != nullptr) {
    return call.Out(0, Array(DType::kFloat32, {}, call.Float("value_float", 0)));
  }
  if (node.Find("value_ints") != nullptr) {
    return call.Out(0, List(DType::kInt64, call.Ints("value_ints")));
  }
  call.Out(0, List(DType::kFloat32, std::get<std::vector<double>>(*node.Find("value_floats"))));
}

void ConstantOfShape(Call& call) {
  Array fill(DType::kFloat32, {1});
  if (call.node.Find("value") != nullptr) fill = AttributeTensor(call, "value");
  call.Out(0, Array(fill.dtype, call.In(0).Ints(), fill.data[0]));
}

void Shape(Call& call) {
  Dims dims = call.In(0).dims;
  auto rank = static_cast<int64_t>(dims.size());
  auto position = [&](Literal attribute, int64_t otherwise) {
    int64_t at = call.Int(attribute, otherwise);
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  int64_t start = position("start", 0);
  int64_t end = std::max(start, position("end", rank));
  call.Out(0, List(DType::kInt64, Dims(dims.begin() + start, dims.begin() + end)));
}

void Size(Call& call) {
  call.Out(0, Array(DType::kInt64, {}, static_cast<Number>(call.In(0).size())));
}

void Range(Call& call) {
  Number start = call.In(0).data[0];
  Number delta = call.In(2).data[0];
  Number count = std::max<Number>(0, std::ceil((call.In(1).data[0] - start) / delta));
  Array out(call.In(0).dtype, {static_cast<int64_t>(count)});
  for (size_t i = 0; i < out.size(); ++i) out.data[i] = start + static_cast<Number>(i) * delta;
  call.Out(0, std::move(out));
}

void EyeLike(Call& call) {
  DType dtype = static_cast<DType>(call.Int("dtype", static_cast<int64_t>(call.In(0).dtype)));
  Array out(dtype, call.In(0).dims);
  ForEach(out.dims, [&](const Dims& i) { out[i] = i[1] - i[0] == call.Int("k", 0); });
  call.Out(0, std::move(out));
}

void ReadVariable(Call& call) { call.Out(0, call.Variable("variable")); }
void Assign(Call& call) { call.Variable("variable").data = call.In(0).data; }
void AssignAdd(Call& call) {
  Array& variable = call.Variable("variable");
  for (size_t i = 0; i < variable.size(); ++i) {
    variable.data[i] = Fit(variable.dtype, variable.data[i] + call.In(0).data[i]);
  }
}

constexpr std::string_view kState = "headrace.state";

const Entry kGenerateEntries[] = {
    {"", "Constant", Constant},
    {"", "ConstantOfShape", ConstantOfShape},
    {"", "Shape", Shape},
    {"", "Size", Size},
    {"", "Range", Range},
    {"", "EyeLike", EyeLike},
    {kState, "Read", ReadVariable},
    {kState, "Assign", Assign},
    {kState, "AssignAdd", AssignAdd},
};

}  // namespace

std::span<const Entry> GenerateFunctions() { return kGenerateEntries; }

}  // namespace hr::reference
