#include "backends/cpu/kernels/convert_bfloat16.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <bit>
#include <vector>

#include "runtime/base/half.h"

namespace hr::cpu {
namespace {

// At each set of instructions, from the best one down.
template <typename Body>
void AtEachTarget(const Body& body) {
  for (int64_t targets = hwy::SupportedTargets(); targets != 0; targets &= targets - 1) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(targets);
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST(ConvertBfloat16Test, EveryNumberIsWidenedExactly) {
  std::vector<uint16_t> x(1 << 16);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint16_t>(i);
  AtEachTarget([&] {
    std::vector<float> y(x.size());
    Bfloat16ToFloats()(x.data(), y.data(), static_cast<int64_t>(x.size()));
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(y[i]), static_cast<uint32_t>(i) << 16);
    }
  });
}

// Ties, their neighbours, infinities and NaNs among them.
TEST(ConvertBfloat16Test, EveryKindIsRoundedToTheNearestEven) {
  std::vector<float> x;
  for (uint32_t high = 0; high < 1 << 16; ++high) {
    for (const uint32_t low : {0x0000U, 0x0001U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
      x.push_back(std::bit_cast<float>(high << 16 | low));
    }
  }
  AtEachTarget([&] {
    std::vector<uint16_t> y(x.size());
    FloatsToBfloat16()(x.data(), y.data(), static_cast<int64_t>(x.size()));
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], FloatToBfloat16(x[i])) << i;
  });
}

TEST(ConvertBfloat16Test, NothingBehindIsWritten) {
  for (int64_t count = 0; count < 70; ++count) {
    std::vector<float> x(80, 3), wide(80, 7);
    std::vector<uint16_t> narrow(80, 9);
    FloatsToBfloat16()(x.data(), narrow.data(), count);
    Bfloat16ToFloats()(narrow.data(), wide.data(), count);
    for (int64_t i = 0; i < 80; ++i) {
      ASSERT_EQ(narrow[static_cast<size_t>(i)], i < count ? FloatToBfloat16(3) : 9);
      ASSERT_EQ(wide[static_cast<size_t>(i)], i < count ? 3 : 7);
    }
  }
}

}  // namespace
}  // namespace hr::cpu
