// Arrays of the reference evaluator: one number type for everything.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"
#include "runtime/device/tensor.h"

namespace hr::reference {

// At least as exact as float64, and holds every 64-bit integer.
using Number = long double;
static_assert(std::numeric_limits<Number>::digits >= 64, "64-bit integers must be exact");

// Floating-point values are never rounded to `dtype`: a float32 graph is judged by exact
// arithmetic. Integers and booleans are kept within their type.
struct Array {
  DType dtype = DType::kFloat64;
  Dims dims;
  std::vector<Number> data;  // row-major

  Array() = default;
  Array(DType type, Dims shape, Number fill = 0)
      : dtype(type), dims(std::move(shape)), data(static_cast<size_t>(ElementCount(dims)), fill) {}

  size_t rank() const { return dims.size(); }
  size_t size() const { return data.size(); }
  size_t Offset(const Dims& index) const;
  Number& operator[](const Dims& index) { return data[Offset(index)]; }
  Number operator[](const Dims& index) const { return data[Offset(index)]; }
  // The element seen at `index` of a larger shape that this array broadcasts to.
  Number Broadcast(const Dims& index) const;
  std::vector<int64_t> Ints() const { return {data.begin(), data.end()}; }
};

// Calls f with every index of the shape, in row-major order.
void ForEach(const Dims& dims, const std::function<void(const Dims& index)>& f);
// The value as the type stores it: integers wrap around, floats stay exact.
Number Fit(DType dtype, Number value);

Array FromTensor(const Tensor& tensor);
// Rounds to the dtype.
Tensor ToTensor(const Array& array);

// "" where the tensor agrees with the reference: same type and shape, every element within
// `absolute` + `relative` * |expected|, NaN and infinities alike. Otherwise says where and how far.
std::string Difference(const Tensor& got, const Array& expected, double relative, double absolute);

}  // namespace hr::reference
