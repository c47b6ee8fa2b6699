// Runs of numbers with one scale and one zero point, to 8-bit integers and back.
#pragma once

#include <cstdint>

namespace hr::cpu {

// y = clamp(round half to even(x / scale) + zero), in float32; NaN becomes an end of the range.
// `y`: int8 or uint8.
void QuantizeRun(const float* x, int64_t n, float scale, float zero, bool is_signed, void* y);
// y = (x - zero) * scale, in float32.
void DequantizeRun(const void* x, bool is_signed, int64_t n, float scale, float zero, float* y);

// The least and the largest number, 0 included. Both are NaN if a number is.
struct FloatRange {
  float least = 0, most = 0;
};
FloatRange RangeOf(const float* x, int64_t n);
FloatRange Joined(const FloatRange& a, const FloatRange& b);

// How DynamicQuantizeLinear maps a range to uint8.
struct DynamicScale {
  float scale = 1;
  uint8_t zero = 0;
};
DynamicScale DynamicScaleOf(const FloatRange& range);

}  // namespace hr::cpu
