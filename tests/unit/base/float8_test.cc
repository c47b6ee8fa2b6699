#include "runtime/base/float8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace hr {
namespace {

// What the specifications say of a type, in their own words.
struct Float8Facts {
  DType dtype;
  int fraction;
  double least, largest;
  bool infinite, negative_zero;
  int nans;  // codes
};
constexpr Float8Facts kFacts[] = {
    {DType::kFloat8E4M3FN, 3, 0x1p-9, 448, false, true, 2},
    {DType::kFloat8E4M3FNUZ, 3, 0x1p-10, 240, false, false, 1},
    {DType::kFloat8E5M2, 2, 0x1p-16, 57344, true, true, 6},
    {DType::kFloat8E5M2FNUZ, 2, 0x1p-17, 57344, false, false, 1},
};

class Float8Test : public testing::TestWithParam<Float8Facts> {
 protected:
  float ToFloat(int bits) const { return Float8ToFloat(format_, static_cast<uint8_t>(bits)); }
  uint8_t ToBits(float value) const { return FloatToFloat8(format_, value); }

  const Float8Facts facts_ = GetParam();
  const Float8Format format_ = Float8FormatOf(facts_.dtype);
};

// Positive numbers ascend in equal steps, twice as long in every next octave.
TEST_P(Float8Test, NumbersAscendInSteps) {
  const int per_octave = 1 << facts_.fraction;
  double value = 0, step = facts_.least;
  int code = 0;
  for (; value <= facts_.largest; ++code) {
    ASSERT_EQ(ToFloat(code), value) << code;
    if (code != 0) {
      ASSERT_EQ(ToFloat(code | 0x80), -value) << code;
    }
    if (code >= 2 * per_octave && code % per_octave == 0) step *= 2;
    value += step;
  }
  EXPECT_EQ(LargestFloat8(facts_.dtype), facts_.largest);
  EXPECT_EQ(std::isinf(ToFloat(code)) && std::isinf(ToFloat(code | 0x80)), facts_.infinite);
  int nans = 0;
  for (int bits = 0; bits < 256; ++bits) nans += std::isnan(ToFloat(bits)) ? 1 : 0;
  EXPECT_EQ(nans, facts_.nans);
  EXPECT_EQ(std::signbit(ToFloat(0x80)) && ToFloat(0x80) == 0, facts_.negative_zero);
}

TEST_P(Float8Test, EveryNumberSurvives) {
  for (int bits = 0; bits < 256; ++bits) {
    if (!std::isnan(ToFloat(bits))) {
      ASSERT_EQ(ToBits(ToFloat(bits)), bits);
    }
  }
  EXPECT_TRUE(std::isnan(ToFloat(ToBits(NAN))));
  EXPECT_TRUE(std::isnan(ToFloat(ToBits(-NAN))));
}

// Between two neighbours the nearer one wins, and the even one at the middle.
TEST_P(Float8Test, RoundsToTheNearest) {
  for (int bits = 0; ToFloat(bits) < facts_.largest; ++bits) {
    const float low = ToFloat(bits), high = ToFloat(bits + 1), middle = low + (high - low) / 2;
    ASSERT_EQ(ToBits(std::nextafter(middle, 0.0f)), bits);
    ASSERT_EQ(ToBits(std::nextafter(middle, INFINITY)), bits + 1);
    ASSERT_EQ(ToBits(middle), bits % 2 == 0 ? bits : bits + 1);
    if (bits != 0) {
      ASSERT_EQ(ToBits(-std::nextafter(middle, 0.0f)), bits | 0x80);
    }
  }
}

TEST_P(Float8Test, WhatIsTooLargeIsInfiniteOrNoNumber) {
  const auto largest = static_cast<float>(facts_.largest);
  const float step = largest - ToFloat(ToBits(largest) - 1);
  EXPECT_EQ(ToFloat(ToBits(largest + step * 0.499f)), largest);
  for (const float value : {largest + step * 0.501f, 1e30f, INFINITY}) {
    const float high = ToFloat(ToBits(value)), low = ToFloat(ToBits(-value));
    EXPECT_TRUE(facts_.infinite ? high == INFINITY && low == -INFINITY
                                : std::isnan(high) && std::isnan(low))
        << value;
  }
}

TEST_P(Float8Test, ZeroHasTheSignThatItCanHave) {
  EXPECT_EQ(ToBits(0.0f), 0);
  for (const float value : {-0.0f, -1e-30f, static_cast<float>(-facts_.least / 4)}) {
    EXPECT_EQ(ToBits(value), facts_.negative_zero ? 0x80 : 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Float8Test, testing::ValuesIn(kFacts),
                         [](const auto& info) { return std::string(DTypeName(info.param.dtype)); });

}  // namespace
}  // namespace hr
