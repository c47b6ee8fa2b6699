#include "runtime/base/half.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hr {
namespace {

TEST(HalfTest, EveryNumberSurvives) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    if ((bits & 0x7fff) <= 0x7c00) {
      ASSERT_EQ(FloatToHalf(HalfToFloat(half)), half);
    } else {
      ASSERT_TRUE(std::isnan(HalfToFloat(half)));
    }
    if ((bits & 0x7fff) <= 0x7f80) {
      ASSERT_EQ(FloatToBfloat16(Bfloat16ToFloat(half)), half);
    }
  }
}

TEST(HalfTest, KnownNumbers) {
  EXPECT_EQ(HalfToFloat(0x3c00), 1);
  EXPECT_EQ(HalfToFloat(0x0001), 0x1p-24f);
  EXPECT_EQ(HalfToFloat(0xfbff), -65504);
}

// Between two neighbours the nearer one wins, and the even one at the middle.
TEST(HalfTest, RoundsToNearestEven) {
  for (uint16_t half = 0; half < 0x7bff; ++half) {
    const auto next = static_cast<uint16_t>(half + 1);
    const float low = HalfToFloat(half), high = HalfToFloat(next), middle = (low + high) / 2;
    ASSERT_EQ(FloatToHalf(middle), half & 1 ? next : half) << half;
    ASSERT_EQ(FloatToHalf(std::nextafter(middle, low)), half);
    ASSERT_EQ(FloatToHalf(std::nextafter(middle, high)), next);
  }
  EXPECT_EQ(FloatToHalf(65519), 0x7bff);
  EXPECT_EQ(FloatToHalf(65520), 0x7c00);
  EXPECT_EQ(FloatToHalf(-1e30f), 0xfc00);
  EXPECT_EQ(FloatToBfloat16(std::bit_cast<float>(0x3f808000u)), 0x3f80);
  EXPECT_EQ(FloatToBfloat16(std::bit_cast<float>(0x3f818000u)), 0x3f82);
}

TEST(HalfTest, DoublesRoundOnce) {
  const double barely_above = 1 + 0x1p-11 + 0x1p-40;  // the middle of two halves, and a little
  EXPECT_EQ(FloatToHalf(static_cast<float>(barely_above)), 0x3c00) << "rounding twice";
  EXPECT_EQ(FloatToHalf(RoundToOdd(barely_above)), 0x3c01);
  EXPECT_EQ(RoundToOdd(-0.1), -RoundToOdd(0.1));
  EXPECT_EQ(RoundToOdd(0.5), 0.5f);
}

}  // namespace
}  // namespace hr
