#include "tools/headrace/values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace headrace::tool {
namespace {

double HalfToDouble(uint16_t bits) {
  int exponent = bits >> 10 & 0x1F;
  double fraction = bits & 0x3FF;
  double magnitude = exponent == 0   ? std::ldexp(fraction, -24)
                     : exponent < 31 ? std::ldexp(fraction + 1024, exponent - 25)
                     : fraction == 0 ? std::numeric_limits<double>::infinity()
                                     : std::numeric_limits<double>::quiet_NaN();
  return bits >> 15 != 0 ? -magnitude : magnitude;
}

float WidenedBfloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// A float of 8 bits. The types whose names end in UZ have no infinity and one zero; NaN is what its
// negative would be.
float Float8ToFloat(hr_dtype dtype, uint8_t bits) {
  const bool wide = dtype == HR_FLOAT8E5M2 || dtype == HR_FLOAT8E5M2FNUZ;
  const bool one_zero = dtype == HR_FLOAT8E4M3FNUZ || dtype == HR_FLOAT8E5M2FNUZ;
  const int fraction = wide ? 2 : 3, bias = (wide ? 15 : 7) + (one_zero ? 1 : 0);
  const int magnitude = bits & 0x7F, exponent = std::max(1, magnitude >> fraction);
  const bool is_nan = one_zero                 ? bits == 0x80
                      : dtype == HR_FLOAT8E5M2 ? magnitude > 0x7C
                                               : magnitude == 0x7F;
  const int leading = magnitude >> fraction == 0 ? 0 : 1;
  const int steps = (leading << fraction) + (magnitude & ((1 << fraction) - 1));
  const float size = is_nan ? std::numeric_limits<float>::quiet_NaN()
                     : dtype == HR_FLOAT8E5M2 && magnitude == 0x7C
                         ? std::numeric_limits<float>::infinity()
                         : std::ldexp(static_cast<float>(steps), exponent - bias - fraction);
  return bits >> 7 != 0 ? -size : size;
}

// Calls `use` with the element as it is: 64-bit integers do not fit into a double.
template <typename Use>
auto WithElement(const hr::Tensor& tensor, int64_t i, Use use) {
  const hr_dtype dtype = hr_tensor_dtype(tensor.get());
  switch (dtype) {
    case HR_FLOAT32: return use(tensor.data<float>()[i]);
    case HR_FLOAT64: return use(tensor.data<double>()[i]);
    case HR_FLOAT16: return use(HalfToDouble(tensor.data<uint16_t>()[i]));
    case HR_BFLOAT16: return use(WidenedBfloat(tensor.data<uint16_t>()[i]));
    case HR_FLOAT8E4M3FN:
    case HR_FLOAT8E4M3FNUZ:
    case HR_FLOAT8E5M2:
    case HR_FLOAT8E5M2FNUZ: return use(Float8ToFloat(dtype, tensor.data<uint8_t>()[i]));
    case HR_INT8: return use(tensor.data<int8_t>()[i]);
    case HR_INT16: return use(tensor.data<int16_t>()[i]);
    case HR_INT32: return use(tensor.data<int32_t>()[i]);
    case HR_INT64: return use(tensor.data<int64_t>()[i]);
    case HR_UINT16: return use(tensor.data<uint16_t>()[i]);
    case HR_UINT32: return use(tensor.data<uint32_t>()[i]);
    case HR_UINT64: return use(tensor.data<uint64_t>()[i]);
    default: return use(tensor.data<uint8_t>()[i]);
  }
}

std::string ElementText(const hr::Tensor& tensor, int64_t i) {
  return WithElement(tensor, i, [](auto element) -> std::string {
    if constexpr (std::is_integral_v<decltype(element)>) {
      return std::to_string(element);
    } else {
      char text[40];
      int digits = std::is_same_v<decltype(element), double> ? 17 : 9;
      std::snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(element));
      return text;
    }
  });
}

}  // namespace

double ElementAt(const hr::Tensor& tensor, int64_t index) {
  return WithElement(tensor, index, [](auto element) { return static_cast<double>(element); });
}

Summary Summarise(const hr::Tensor& tensor) {
  Summary out{.min = std::numeric_limits<double>::infinity(),
              .max = -std::numeric_limits<double>::infinity()};
  int64_t count = 0;
  double squares = 0;  // of distances from the mean so far (Welford)
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    double element = ElementAt(tensor, i);
    if (!std::isfinite(element)) {
      ++out.not_finite;
      continue;
    }
    out.min = std::min(out.min, element);
    out.max = std::max(out.max, element);
    double distance = element - out.mean;
    out.mean += distance / static_cast<double>(++count);
    squares += distance * (element - out.mean);
  }
  if (count == 0) return Summary{.not_finite = out.not_finite};
  out.deviation = std::sqrt(squares / static_cast<double>(count));
  return out;
}

std::string TypeText(const hr::Tensor& tensor) {
  std::string out = hr_dtype_name(hr_tensor_dtype(tensor.get())) + std::string("[");
  std::vector<int64_t> dims = tensor.dims();
  for (size_t i = 0; i < dims.size(); ++i) out += (i == 0 ? "" : ", ") + std::to_string(dims[i]);
  return out + "]";
}

std::string ElementsText(const hr::Tensor& tensor) {
  std::vector<int64_t> dims = tensor.dims();
  int64_t row = dims.empty() ? 1 : dims.back();
  std::string out;
  for (int64_t i = 0; i < tensor.elements(); ++i)
    out += ElementText(tensor, i) + ((i + 1) % row == 0 ? "\n" : " ");
  return out;
}

std::string FirstElements(const hr::Tensor& tensor, int64_t most) {
  std::string out;
  for (int64_t i = 0; i < std::min(most, tensor.elements()); ++i) {
    char text[32];
    std::snprintf(text, sizeof text, "%s%.6g", i == 0 ? "" : " ", ElementAt(tensor, i));
    out += text;
  }
  return tensor.elements() > most ? out + " …" : out;
}

}  // namespace headrace::tool
