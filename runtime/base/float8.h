// Conversions of the four 8-bit floats of OCP and ONNX, kept as their bits, rounding to nearest
// even. What is too large becomes infinity, or NaN in the types that have no infinity.
#pragma once

#include <bit>
#include <cstdint>

#include "runtime/base/dtype.h"

namespace hr {

struct Float8Format {
  int fraction;  // bits
  int bias;      // of the exponent
  uint8_t largest;
  uint8_t infinity;  // NaN in types without
  uint8_t nan;
  bool one_zero;  // and its negative is the only NaN
};

constexpr Float8Format Float8FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat8E4M3FN: return {3, 7, 0x7e, 0x7f, 0x7f, false};
    case DType::kFloat8E4M3FNUZ: return {3, 8, 0x7f, 0x80, 0x80, true};
    case DType::kFloat8E5M2: return {2, 15, 0x7b, 0x7c, 0x7e, false};
    default: return {2, 16, 0x7f, 0x80, 0x80, true};
  }
}

constexpr float Float8ToFloat(const Float8Format& format, uint8_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x80) << 24;
  const uint32_t magnitude = bits & 0x7f;
  if (format.one_zero ? bits == 0x80 : magnitude > format.largest) {
    const bool infinite = format.infinity != format.nan && magnitude == format.infinity;
    return std::bit_cast<float>(sign | (infinite ? 0x7f800000 : 0x7fc00000));
  }
  // As a float's bits the magnitude is too small by 2^(127 - bias); denormals come out right as
  // well.
  const auto scale = static_cast<uint32_t>(254 - format.bias) << 23;
  const float scaled =
      std::bit_cast<float>(magnitude << (23 - format.fraction)) * std::bit_cast<float>(scale);
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled));
}

// The largest finite number.
constexpr float LargestFloat8(DType dtype) {
  const Float8Format format = Float8FormatOf(dtype);
  return Float8ToFloat(format, format.largest);
}

constexpr uint8_t FloatToFloat8(const Float8Format& format, float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint8_t>(bits >> 24 & 0x80);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | format.nan;
  const int dropped = 23 - format.fraction;
  uint32_t rounded = 0;
  if (magnitude < static_cast<uint32_t>(128 - format.bias) << 23) {
    // Below the smallest normal number: adding rounds at the last bit of a denormal.
    const auto step = static_cast<uint32_t>(128 - format.bias + dropped) << 23;
    const float shifted = std::bit_cast<float>(magnitude) + std::bit_cast<float>(step);
    rounded = std::bit_cast<uint32_t>(shifted) - step;
  } else {
    const uint32_t half = (1u << (dropped - 1)) - 1 + (magnitude >> dropped & 1);
    rounded = (magnitude + half) >> dropped;
    rounded -= static_cast<uint32_t>(127 - format.bias) << format.fraction;
  }
  if (rounded > format.largest) return sign | format.infinity;
  if (rounded == 0 && format.one_zero) return 0;
  return static_cast<uint8_t>(sign | rounded);
}

}  // namespace hr
