#include "tests/reference/array.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/base/strings.h"

namespace hr::reference {
namespace {

float FromHalf(uint16_t bits) {
  int exponent = (bits >> 10) & 31;
  int fraction = bits & 1023;
  float size = exponent == 0    ? std::ldexp(static_cast<float>(fraction), -24)
               : exponent == 31 ? (fraction == 0 ? INFINITY : NAN)
                                : std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

// To the nearest, ties to even: rounding to a multiple of the last bit's value is exact in Number.
uint16_t ToHalf(Number value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  Number size = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (size == 0) return sign;
  int exponent = std::max(std::ilogb(size), -14);
  auto steps = static_cast<int>(std::nearbyint(std::ldexp(size, 10 - exponent)));
  if (exponent > 15 || (exponent == 15 && steps == 2048)) return sign | 0x7c00;
  return static_cast<uint16_t>(sign + ((exponent + 14) << 10) + steps);
}

uint16_t ToBfloat(Number value) {
  auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  if (std::isnan(value)) return 0x7fc0;
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float FromBfloat(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

template <typename T>
void Read(const Tensor& tensor, Array& array) {
  for (size_t i = 0; i < array.size(); ++i) array.data[i] = tensor.as<T>()[i];
}
template <typename T>
void Write(const Array& array, const Tensor& tensor) {
  for (size_t i = 0; i < array.size(); ++i) tensor.as<T>()[i] = static_cast<T>(array.data[i]);
}

// Calls f.operator()<T>() with the dtype's C++ type.
template <typename F>
void Dispatch(DType dtype, F f) {
  switch (dtype) {
    case DType::kFloat32: return f.template operator()<float>();
    case DType::kFloat64: return f.template operator()<double>();
    case DType::kInt8: return f.template operator()<int8_t>();
    case DType::kInt16: return f.template operator()<int16_t>();
    case DType::kInt32: return f.template operator()<int32_t>();
    case DType::kInt64: return f.template operator()<int64_t>();
    case DType::kUint8: return f.template operator()<uint8_t>();
    case DType::kUint16: return f.template operator()<uint16_t>();
    case DType::kUint32: return f.template operator()<uint32_t>();
    case DType::kUint64: return f.template operator()<uint64_t>();
    default: return f.template operator()<bool>();
  }
}

bool Close(Number got, Number expected, double relative, double absolute) {
  if (std::isnan(expected)) return std::isnan(got);
  if (std::isinf(expected) || std::isinf(got)) return got == expected;
  return std::fabs(got - expected) <= absolute + relative * std::fabs(expected);
}

}  // namespace

size_t Array::Offset(const Dims& index) const {
  int64_t offset = 0;
  for (size_t d = 0; d < dims.size(); ++d) offset = offset * dims[d] + index[d];
  return static_cast<size_t>(offset);
}

Number Array::Broadcast(const Dims& index) const {
  int64_t offset = 0;
  size_t skipped = index.size() - dims.size();
  for (size_t d = 0; d < dims.size(); ++d) {
    offset = offset * dims[d] + (dims[d] == 1 ? 0 : index[skipped + d]);
  }
  return data[static_cast<size_t>(offset)];
}

void ForEach(const Dims& dims, const std::function<void(const Dims& index)>& f) {
  if (ElementCount(dims) == 0) return;
  Dims index(dims.size(), 0);
  while (true) {
    f(index);
    size_t d = dims.size();
    while (d > 0 && ++index[d - 1] == dims[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

Number Fit(DType dtype, Number value) {
  if (IsFloating(dtype)) return value;
  if (dtype == DType::kBool) return value != 0;
  if (!std::isfinite(value)) return 0;
  int bits = static_cast<int>(DTypeSize(dtype)) * 8;
  Number range = std::ldexp(Number{1}, bits);
  bool is_unsigned = dtype == DType::kUint8 || dtype == DType::kUint16 || dtype == DType::kUint32 ||
                     dtype == DType::kUint64;
  Number rest = std::fmod(std::trunc(value), range);
  if (rest < 0) rest += range;
  return !is_unsigned && rest >= range / 2 ? rest - range : rest;
}

Array FromTensor(const Tensor& given) {
  Tensor tensor = given.Contiguous(SystemAllocator()).value();
  Array array(tensor.dtype(), tensor.dims());
  if (tensor.dtype() == DType::kFloat16 || tensor.dtype() == DType::kBfloat16) {
    bool half = tensor.dtype() == DType::kFloat16;
    for (size_t i = 0; i < array.size(); ++i) {
      uint16_t bits = tensor.as<uint16_t>()[i];
      array.data[i] = half ? FromHalf(bits) : FromBfloat(bits);
    }
    return array;
  }
  Dispatch(tensor.dtype(), [&]<typename T>() { Read<T>(tensor, array); });
  return array;
}

Tensor ToTensor(const Array& array) {
  Tensor tensor = Tensor::Create(SystemAllocator(), array.dtype, array.dims).value();
  if (array.dtype == DType::kFloat16 || array.dtype == DType::kBfloat16) {
    bool half = array.dtype == DType::kFloat16;
    for (size_t i = 0; i < array.size(); ++i) {
      tensor.as<uint16_t>()[i] = half ? ToHalf(array.data[i]) : ToBfloat(array.data[i]);
    }
    return tensor;
  }
  Dispatch(array.dtype, [&]<typename T>() { Write<T>(array, tensor); });
  return tensor;
}

std::string Difference(const Tensor& got, const Array& expected, double relative, double absolute) {
  if (got.dtype() != expected.dtype || got.dims() != expected.dims) {
    return Cat("expected ", DTypeName(expected.dtype), ShapeText(expected.dims), ", got ",
               got.TypeText());
  }
  Array values = FromTensor(got);
  for (size_t i = 0; i < values.size(); ++i) {
    if (Close(values.data[i], expected.data[i], relative, absolute)) continue;
    return Cat("element ", i, " of ", values.size(), ": expected ",
               static_cast<double>(expected.data[i]), ", got ",
               static_cast<double>(values.data[i]));
  }
  return "";
}

}  // namespace hr::reference
