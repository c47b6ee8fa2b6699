// Elements of floating-point tensors as double, one by one.
#pragma once

#include "runtime/base/half.h"
#include "runtime/device/tensor.h"

namespace hr::transform {

inline double NumberAt(const Tensor& tensor, int64_t i) {
  switch (tensor.dtype()) {
    case DType::kFloat64: return tensor.as<double>()[i];
    case DType::kFloat32: return static_cast<double>(tensor.as<float>()[i]);
    case DType::kFloat16: return static_cast<double>(HalfToFloat(tensor.as<uint16_t>()[i]));
    default: return static_cast<double>(Bfloat16ToFloat(tensor.as<uint16_t>()[i]));
  }
}

inline void SetNumberAt(Tensor& tensor, int64_t i, double value) {
  switch (tensor.dtype()) {
    case DType::kFloat64: tensor.as<double>()[i] = value; break;
    case DType::kFloat32: tensor.as<float>()[i] = static_cast<float>(value); break;
    case DType::kFloat16: tensor.as<uint16_t>()[i] = FloatToHalf(RoundToOdd(value)); break;
    default: tensor.as<uint16_t>()[i] = FloatToBfloat16(RoundToOdd(value));
  }
}

}  // namespace hr::transform
