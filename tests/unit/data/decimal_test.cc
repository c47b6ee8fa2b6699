#include "runtime/data/decimal.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>

namespace hr::data {
namespace {

template <typename T>
T Read(const std::string& text, char point = '.') {
  T quick = 0, slow = 0;
  const char* end = text.data() + text.size();
  const char* after = QuickFloat(text.data(), end, point, &quick);
  EXPECT_TRUE(FloatOf(text.data(), end, point, &slow)) << text;
  if (after == nullptr) return slow;
  EXPECT_EQ(after, end) << text;
  EXPECT_EQ(std::memcmp(&quick, &slow, sizeof quick), 0) << text << ": " << quick << " " << slow;
  return quick;
}

TEST(DecimalTest, ReadsWhatPeopleWrite) {
  EXPECT_EQ(Read<float>("0"), 0.0f);
  EXPECT_TRUE(std::signbit(Read<float>("-0.0")));
  EXPECT_EQ(Read<float>("+1.25"), 1.25f);
  EXPECT_EQ(Read<double>("-.5e+2"), -50.0);
  EXPECT_EQ(Read<double>("7."), 7.0);
  EXPECT_EQ(Read<double>("1,5", ','), 1.5);
  EXPECT_EQ(Read<double>("12345678901234567890123"), 12345678901234567890123.0);
  EXPECT_TRUE(std::isnan(Read<float>("nan")));
  EXPECT_EQ(Read<float>("-Infinity"), -std::numeric_limits<float>::infinity());
}

TEST(DecimalTest, LeavesTheRangeAsNumbersDo) {
  EXPECT_EQ(Read<float>("1e39"), std::numeric_limits<float>::infinity());
  EXPECT_EQ(Read<double>("-1e400"), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(Read<double>("1e-400"), 0.0);
  EXPECT_EQ(Read<double>("0." + std::string(500, '0') + "1"), 0.0);
  EXPECT_EQ(Read<double>(std::string(500, '9')), std::numeric_limits<double>::infinity());
  EXPECT_EQ(Read<double>("0." + std::string(500, '0') + "1e900"),
            std::numeric_limits<double>::infinity());
  EXPECT_EQ(Read<float>("1e-40"), 1e-40f);
  EXPECT_EQ(Read<double>("1e99999999999999999999"), std::numeric_limits<double>::infinity());
}

TEST(DecimalTest, RefusesWhatIsNoNumber) {
  for (const std::string text : {"", "-", ".", "e5", "1e", "--1", "+-1", "0x10", "1 2", "1,5"}) {
    float value;
    EXPECT_FALSE(FloatOf(text.data(), text.data() + text.size(), '.', &value)) << text;
    const char* end = QuickFloat(text.data(), text.data() + text.size(), '.', &value);
    EXPECT_TRUE(end == nullptr || end != text.data() + text.size()) << text;
  }
}

// Halves between floats are where rounding twice goes wrong.
TEST(DecimalTest, RoundsOnce) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200'000; ++i) {
    char text[64];
    const double value = static_cast<double>(random() >> 40) *
                         std::pow(2.0, static_cast<double>(random() % 40) - 30);
    const auto written = std::to_chars(text, text + sizeof text, value + (i % 3) * value * 0x1p-24,
                                       std::chars_format::fixed, static_cast<int>(random() % 12));
    Read<float>(std::string(text, written.ptr));
    Read<double>(std::string(text, written.ptr));
  }
  EXPECT_EQ(Read<float>("16777217.0000001"), 16777218.0f);
  EXPECT_EQ(Read<float>("16777217"), 16777216.0f);
}

// Just beside what lies between two floats, with 16 to 19 digits.
TEST(DecimalTest, RoundsLongNumbersOnce) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 200'000; ++i) {
    char text[64];
    const double middle = static_cast<double>((random() >> 40 | 1 << 23) * 2 + 1) * 0x1p-25;
    const double units = static_cast<double>(random() % 9) - 4;
    const double value = (middle + units * 0x1p-52) * std::pow(10.0, random() % 12);
    const auto written = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed,
                                       static_cast<int>(6 + random() % 13));
    Read<float>(std::string(text, written.ptr));
    Read<double>(std::string(text, written.ptr));
  }
}

}  // namespace
}  // namespace hr::data
