// Accuracy of the functors' own polynomials, over floats of every size, against double.
#include "runtime/ops/functors/functors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "runtime/ops/functors/philox.h"

namespace hr::functors {
namespace {

// The largest error in units of the last place for x in [low, high].
double LargestError(float (*function)(float), double (*exact)(double), float low, float high) {
  double worst = 0;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 1999) {
    const auto x = Bits<float>(static_cast<uint32_t>(bits));
    if (!(x >= low && x <= high)) continue;
    const double want = exact(static_cast<double>(x));
    const float got = function(x);
    if (!std::isfinite(static_cast<float>(want))) {
      EXPECT_EQ(got, static_cast<float>(want)) << "at " << x;
      continue;
    }
    int exponent;
    std::frexp(want, &exponent);
    const double ulp = std::ldexp(1.0, std::max(exponent - 24, -149));
    worst = std::max(worst, std::fabs(got - want) / ulp);
  }
  return worst;
}

double ExactSigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double ExactSoftplus(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }

TEST(FunctorsTest, ErrorsInUnitsOfTheLastPlace) {
  const float all = INFINITY;
  EXPECT_LT(LargestError(Exp<float>, std::exp, -all, all), 1.1);
  EXPECT_LT(LargestError(Expm1<float>, std::expm1, -all, all), 1.7);
  EXPECT_LT(LargestError(Log<float>, std::log, 0, all), 1.0);
  EXPECT_LT(LargestError(Log1p<float>, std::log1p, 0, all), 1.3);
  EXPECT_LT(LargestError(Tanh<float>, std::tanh, -all, all), 2.6);
  EXPECT_LT(LargestError(Sigmoid<float>, ExactSigmoid, -all, all), 2.5);
  EXPECT_LT(LargestError(Softplus<float>, ExactSoftplus, -all, all), 2.2);
  EXPECT_LT(LargestError(Erf<float>, std::erf, -all, all), 1.2);
  EXPECT_LT(LargestError(Sin<float>, std::sin, -1e5f, 1e5f), 2.2);
  EXPECT_LT(LargestError(Cos<float>, std::cos, -1e5f, 1e5f), 2.2);
}

TEST(FunctorsTest, SignsOfZeroStay) {
  EXPECT_TRUE(std::signbit(Tanh(-0.0f)));
  EXPECT_TRUE(std::signbit(Expm1(-0.0f)));
  EXPECT_TRUE(std::signbit(Erf(-0.0f)));
  EXPECT_TRUE(std::signbit(Sin(-0.0f)));
}

// The first lines of Random123's known-answer file for philox4x32 with 10 rounds.
TEST(PhiloxTest, KnownAnswers) {
  const auto expect = [](PhiloxWords<uint32_t> counter, uint32_t key0, uint32_t key1,
                         PhiloxWords<uint32_t> want) {
    const auto got = Philox(counter, key0, key1);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(got.word[i], want.word[i]) << "word " << i;
  };
  const uint32_t ones = 0xffffffff;
  expect({{0, 0, 0, 0}}, 0, 0, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
  expect({{ones, ones, ones, ones}}, ones, ones,
         {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
  expect({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0,
         {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
}

TEST(PhiloxTest, UniformStaysBelowOne) {
  EXPECT_EQ(UniformFrom<float>(0u), 0);
  EXPECT_EQ(UniformFrom<float>(0xffffffffu), 1 - 0x1p-24f);
}

TEST(PhiloxTest, NormalsHaveTheMomentsOfNormals) {
  double sum = 0, squares = 0, fourth = 0;
  const int blocks = 100000;
  for (uint32_t i = 0; i < blocks; ++i) {
    const auto words = Philox<uint32_t>({{i, 0, 0, 0}}, 1, 2);
    float pair[2];
    NormalsFrom(words.word[0], words.word[1], &pair[0], &pair[1]);
    for (double x : pair) {
      sum += x;
      squares += x * x;
      fourth += x * x * x * x;
    }
  }
  EXPECT_NEAR(sum / (2 * blocks), 0, 0.01);
  EXPECT_NEAR(squares / (2 * blocks), 1, 0.02);
  EXPECT_NEAR(fourth / (2 * blocks), 3, 0.1);
}

}  // namespace
}  // namespace hr::functors
