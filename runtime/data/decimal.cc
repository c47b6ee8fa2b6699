#include "runtime/data/decimal.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

namespace hr::data {
namespace {

constexpr int kMostDigits = 19;  // that a uint64 holds
// The powers of 10 that a double holds exactly, so that a product or quotient is rounded once (W.
// Clinger, "How to read floating point numbers accurately", 1990).
constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                              1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                              1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr int kMostPower = 22;
constexpr uint64_t kExact = uint64_t{1} << 53;

bool IsDigit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

constexpr uint64_t kTens[] = {1, 10, 100, 1000, 10'000, 100'000, 1'000'000, 10'000'000};

// How many of 8 bytes, from the lowest on, are digits. What a sum carries over does not matter: it
// comes from a byte that is none.
int CountDigits(uint64_t bytes) {
  constexpr uint64_t kHigh = 0xF0F0F0F0F0F0F0F0, kThrees = 0x3030303030303030;
  const uint64_t others =
      ((bytes & kHigh) ^ kThrees) | (((bytes + 0x0606060606060606) & kHigh) ^ kThrees);
  return std::countr_zero(others) / 8;
}

// The number of 8 bytes from 0 to 9, the first in the lowest one: pairs, fours and all are joined.
uint64_t EightDigits(uint64_t bytes) {
  bytes = bytes * 10 + (bytes >> 8);
  return ((bytes & 0x000000FF000000FF) * 0x000F424000000064 +
          ((bytes >> 16) & 0x000000FF000000FF) * 0x0000271000000001) >>
         32;
}

// Adds the digits from `p` on to *mantissa. Returns where they end. Inlined, so that the mantissa
// stays in a register.
[[gnu::always_inline]] inline const char* Digits(const char* p, const char* end,
                                                 uint64_t* mantissa) {
  if constexpr (std::endian::native == std::endian::little) {
    while (end - p >= 8) {
      uint64_t bytes;
      std::memcpy(&bytes, p, sizeof bytes);
      const int count = CountDigits(bytes);
      bytes -= 0x3030303030303030;
      if (count == 8) {
        *mantissa = *mantissa * 100'000'000 + EightDigits(bytes);
        p += 8;
        continue;
      }
      if (count == 0) return p;
      // Zeros come before them, and what is behind them goes.
      *mantissa = *mantissa * kTens[count] + EightDigits(bytes << (64 - 8 * count));
      return p + count;
    }
  }
  for (; p != end && IsDigit(*p); ++p) *mantissa = *mantissa * 10 + static_cast<uint64_t>(*p - '0');
  return p;
}

struct Decimal {
  bool negative = false;
  uint64_t mantissa = 0;
  int exponent = 0;
};

const char* ReadExponent(const char* p, const char* end, int* exponent) {
  bool negative = false;
  if (p != end && (*p == '-' || *p == '+')) negative = *p++ == '-';
  const char* first = p;
  uint64_t value = 0;
  p = Digits(p, end, &value);
  if (p == first || p - first > 4) return nullptr;
  *exponent += negative ? -static_cast<int>(value) : static_cast<int>(value);
  return p;
}

// The same as ReadDecimal, behind a sign, for a number whose point or end is among the first 8
// characters, of which one word is made without the point. Returns null for others, too.
const char* ReadFromWord(const char* p, const char* end, char point, Decimal* out) {
  if (std::endian::native != std::endian::little || end - p <= 8) return nullptr;
  uint64_t bytes;
  std::memcpy(&bytes, p, sizeof bytes);
  const int whole = CountDigits(bytes);
  if (whole == 8) return nullptr;
  int digits = whole;
  if (p[whole] == point) {
    const uint64_t before = (uint64_t{1} << 8 * whole) - 1;
    bytes = (bytes & before) | (bytes >> 8 & ~before);
    digits = CountDigits(bytes);
    ++p;
  }
  if (digits == 0) return nullptr;
  uint64_t mantissa = EightDigits((bytes - 0x3030303030303030) << (64 - 8 * digits));
  p += digits;
  if (IsDigit(*p)) {
    const char* rest = p;
    p = Digits(p, end, &mantissa);
    if (p - rest > kMostDigits - digits) return nullptr;
    digits += static_cast<int>(p - rest);
  }
  out->mantissa = mantissa;
  out->exponent = whole - digits;
  return p == end || (*p | 0x20) != 'e' ? p : ReadExponent(p + 1, end, &out->exponent);
}

const char* ReadDecimal(const char* p, const char* end, char point, Decimal* out) {
  if (p != end && (*p == '-' || *p == '+')) out->negative = *p++ == '-';
  if (const char* after = ReadFromWord(p, end, point, out)) return after;
  out->exponent = 0;
  uint64_t mantissa = 0;
  const char* first = p;
  p = Digits(p, end, &mantissa);
  int64_t digits = p - first;
  if (p != end && *p == point) {
    const char* fraction = ++p;
    p = Digits(p, end, &mantissa);
    out->exponent = -static_cast<int>(std::min<int64_t>(p - fraction, 1000));
    digits += p - fraction;
  }
  out->mantissa = mantissa;
  if (digits == 0 || digits > kMostDigits) return nullptr;
  if (p == end || (*p | 0x20) != 'e') return p;
  return ReadExponent(p + 1, end, &out->exponent);
}

// Rounded once if the mantissa has at most 53 bits, else twice; false for large exponents.
bool ToDouble(const Decimal& decimal, double* value) {
  if (decimal.exponent > kMostPower || decimal.exponent < -kMostPower) return false;
  const double whole = static_cast<double>(decimal.mantissa);
  const double size =
      decimal.exponent < 0 ? whole / kPowers[-decimal.exponent] : whole * kPowers[decimal.exponent];
  *value = decimal.negative ? -size : size;
  return true;
}

// `once`: the double was rounded once, and is the nearest; else it is at most 2 units off.
bool Round(double rounded, bool once, double* value) {
  *value = rounded;
  return once;
}

// A double that was rounded itself gives the nearest float unless the number may lie just between
// two of them, or where floats are denormal.
bool Round(double rounded, bool once, float* value) {
  constexpr uint64_t kDropped = (uint64_t{1} << 29) - 1, kMiddle = uint64_t{1} << 28;
  const uint64_t off = once ? 0 : 2;
  if ((std::bit_cast<uint64_t>(rounded) & kDropped) - (kMiddle - off) <= 2 * off) return false;
  const double size = rounded < 0 ? -rounded : rounded;
  const bool normal =
      size >= std::numeric_limits<float>::min() && size <= std::numeric_limits<float>::max();
  *value = static_cast<float>(rounded);
  return normal || size == 0;
}

template <typename T>
const char* Quick(const char* begin, const char* end, char point, T* value) {
  Decimal decimal;
  double number;
  const char* after = ReadDecimal(begin, end, point, &decimal);
  if (after == nullptr || !ToDouble(decimal, &number)) return nullptr;
  if (!Round(number, decimal.mantissa <= kExact, value)) return nullptr;
  return after;
}

// Whether a decimal number is at least 1, whatever its length.
bool IsLarge(std::string_view text) {
  int64_t scale = 0;  // the number is below 10^scale
  bool fraction = false, leading = true;
  size_t i = text.starts_with('-') ? 1 : 0;
  for (; i < text.size() && (text[i] | 0x20) != 'e'; ++i) {
    if (text[i] == '.') {
      fraction = true;
    } else if (leading && text[i] == '0') {
      scale -= fraction ? 1 : 0;
    } else {
      leading = false;
      scale += fraction ? 0 : 1;
    }
  }
  if (i == text.size()) return scale > 0;
  int64_t exponent = 0;
  text.remove_prefix(std::min(i + (text.substr(i + 1).starts_with('+') ? 2 : 1), text.size()));
  const auto result = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (result.ec == std::errc::result_out_of_range) return !text.starts_with('-');
  return scale + exponent > 0;
}

// What is beyond the type.
template <typename T>
T Extreme(std::string_view text) {
  const T size = IsLarge(text) ? std::numeric_limits<T>::infinity() : T(0);
  return text.starts_with('-') ? -size : size;
}

template <typename T>
bool Slow(const char* begin, const char* end, char point, T* value) {
  std::string_view text(begin, end);
  std::string with_point;
  if (point != '.') {
    if (text.find('.') != std::string_view::npos) return false;
    with_point = text;
    std::ranges::replace(with_point, point, '.');
    text = with_point;
  }
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const auto [after, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (after != text.data() + text.size() || error == std::errc::invalid_argument) return false;
  if (error == std::errc::result_out_of_range) *value = Extreme<T>(text);
  return true;
}

}  // namespace

const char* QuickFloat(const char* begin, const char* end, char point, float* value) {
  return Quick(begin, end, point, value);
}
const char* QuickFloat(const char* begin, const char* end, char point, double* value) {
  return Quick(begin, end, point, value);
}
bool FloatOf(const char* begin, const char* end, char point, float* value) {
  return Slow(begin, end, point, value);
}
bool FloatOf(const char* begin, const char* end, char point, double* value) {
  return Slow(begin, end, point, value);
}

}  // namespace hr::data
