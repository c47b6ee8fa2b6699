// One row of the table of gradient checks: a node with its inputs.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "runtime/graph/graph.h"
#include "tests/reference/array.h"

namespace hr::transform {

struct GradientCase {
  struct Input {
    enum Kind { kDifferentiated, kFed, kConstant, kOmitted } kind;
    reference::Array value;
    std::vector<size_t> known_axes;
  };

  std::string op;
  std::string domain;
  int version = 0;  // 0: the newest
  size_t outputs = 1;
  std::vector<Input> inputs;
  std::vector<graph::Attribute> attributes;

  explicit GradientCase(std::string name) : op(std::move(name)) {}

  // A differentiated float64 input: distinct values spread evenly over (low, high) in a fixed
  // disorder, none of them a round number, so that kinks and ties are not met.
  GradientCase& X(const Dims& dims, double low = -1, double high = 1) {
    reference::Array value(DType::kFloat64, dims);
    size_t count = value.size();
    size_t stride = count % 7 == 0 ? 11 : 7;
    while (count > 0 && count % stride == 0) stride += 2;
    for (size_t i = 0; i < count; ++i) {
      double place = static_cast<double>((i * stride + 3 * inputs.size()) % count) + 0.37;
      value.data[i] = low + (high - low) * place / static_cast<double>(count);
    }
    return Add({Input::kDifferentiated, std::move(value)});
  }
  // A float64 input that is not differentiated.
  GradientCase& Fixed(const Dims& dims, double low, double high) {
    X(dims, low, high);
    inputs.back().kind = Input::kFed;
    return *this;
  }
  // Axes of the last input whose sizes the operator has to know.
  GradientCase& Known(std::vector<size_t> axes) {
    inputs.back().known_axes = std::move(axes);
    return *this;
  }
  // Values fed while the graph runs, so that rules cannot read them.
  GradientCase& Fed(DType dtype, const Dims& dims, std::vector<double> values) {
    reference::Array value(dtype, dims);
    value.data.assign(values.begin(), values.end());
    return Add({Input::kFed, std::move(value)});
  }
  // A constant 1-D int64 input.
  GradientCase& Ints(std::vector<int64_t> values) {
    reference::Array value(DType::kInt64, {static_cast<int64_t>(values.size())});
    value.data.assign(values.begin(), values.end());
    return Add({Input::kConstant, std::move(value)});
  }
  GradientCase& Scalar(DType dtype, double number) {
    return Add({Input::kConstant, reference::Array(dtype, {}, number)});
  }
  GradientCase& Constant(reference::Array value) {
    return Add({Input::kConstant, std::move(value)});
  }
  GradientCase& Omitted() { return Add({Input::kOmitted, {}}); }
  template <typename T>
  GradientCase& With(std::string name, T value) {
    attributes.push_back({std::move(name), std::move(value)});
    return *this;
  }
  GradientCase& In(std::string name) {
    domain = std::move(name);
    return *this;
  }
  GradientCase& Version(int number) {
    version = number;
    return *this;
  }
  GradientCase& Outputs(size_t count) {
    outputs = count;
    return *this;
  }

 private:
  GradientCase& Add(Input input) {
    inputs.push_back(std::move(input));
    return *this;
  }
};

// A 1-D float32 constant.
inline reference::Array ScalesOf(std::vector<reference::Number> values) {
  reference::Array out(DType::kFloat32, {static_cast<int64_t>(values.size())});
  out.data = std::move(values);
  return out;
}

inline void PrintTo(const GradientCase& row, std::ostream* out) { *out << row.op; }

}  // namespace hr::transform
