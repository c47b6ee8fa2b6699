#include "runtime/train/value_histogram.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hr::train {
namespace {

// Numbers of a normal distribution (its quantiles), and a few others.
std::vector<float> Normal(int count, std::initializer_list<float> others) {
  std::vector<float> out(others);
  for (int i = 1; i <= count; ++i) {
    // Where the distribution function is i / (count + 1), by bisection.
    double low = -6, high = 6;
    for (int step = 0; step < 40; ++step) {
      const double middle = (low + high) / 2;
      const bool beyond = (1 + std::erf(middle / std::sqrt(2))) / 2 * (count + 1) > i;
      (beyond ? high : low) = middle;
    }
    out.push_back(static_cast<float>(low));
  }
  return out;
}

transform::ValueRange Best(const std::vector<float>& numbers) {
  ValueHistogram histogram;
  histogram.Add(numbers);
  return histogram.RangeOfLeastDivergence();
}

TEST(LeastDivergence, LeavesFarNumbersOut) {
  const transform::ValueRange range = Best(Normal(20000, {40, -25}));
  EXPECT_GT(range.high, 2);
  EXPECT_LT(range.high, 12);
  EXPECT_LT(range.low, -2);
  EXPECT_GT(range.low, -12);
}

TEST(LeastDivergence, KeepsAllOfAnEvenDistribution) {
  std::vector<float> even;
  for (int i = -4000; i <= 8000; ++i) even.push_back(static_cast<float>(i) / 1000);
  const transform::ValueRange range = Best(even);
  EXPECT_EQ(range.low, -4);
  EXPECT_EQ(range.high, 8);
}

// As a Relu leaves them. No range is worse for the zeros.
TEST(LeastDivergence, ZerosSayNothing) {
  std::vector<float> numbers = Normal(20000, {40});
  for (float& x : numbers) x = std::max(x, 0.0f);
  const transform::ValueRange some = Best(numbers);
  EXPECT_EQ(some.low, 0);
  EXPECT_GT(some.high, 2);
  EXPECT_LT(some.high, 12);
  numbers.insert(numbers.end(), 100000, 0.0f);
  const transform::ValueRange more = Best(numbers);
  EXPECT_EQ(more.low, some.low);
  EXPECT_EQ(more.high, some.high);
}

TEST(LeastDivergence, HasARangeOfFewNumbers) {
  EXPECT_EQ(Best({0, 0}).high, 0);
  EXPECT_EQ(Best({5}).high, 5);
  EXPECT_EQ(Best({-3, 1}).low, -3);
}

TEST(Percentile, LeavesHalfOfTheRestOutAtEitherEnd) {
  std::vector<float> even;
  for (int i = -1000; i <= 1000; ++i) even.push_back(static_cast<float>(i));
  ValueHistogram histogram;
  histogram.Add(even);
  EXPECT_EQ(histogram.RangeOf(100).high, 1000);
  EXPECT_NEAR(histogram.RangeOf(90).high, 900, 2);
  EXPECT_NEAR(histogram.RangeOf(90).low, -900, 2);
}

}  // namespace
}  // namespace hr::train
