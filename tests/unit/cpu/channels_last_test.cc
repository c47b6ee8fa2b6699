#include "backends/cpu/kernels/channels_last.h"

#include <algorithm>

#include "tests/unit/cpu/kernel_fixture.h"

namespace hr::cpu {
namespace {

class ChannelsLastTest : public KernelTest {
 protected:
  // Elements of different numbers, between bytes that must stay as they are.
  template <typename T>
  void CheckMove(int64_t n, int64_t c, int64_t plane) {
    constexpr int64_t kGap = 16;
    const int64_t count = n * c * plane;
    std::vector<T> x(static_cast<size_t>(count)), want(static_cast<size_t>(count + 2 * kGap), T{7});
    for (int64_t i = 0; i < count; ++i) x[static_cast<size_t>(i)] = static_cast<T>(i * 131 + 1);
    std::vector<T> got = want;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t image = i / (c * plane), channel = i / plane % c, pixel = i % plane;
      want[static_cast<size_t>(kGap + (image * plane + pixel) * c + channel)] =
          x[static_cast<size_t>(i)];
    }
    for (const int slices : {1, 3, 16}) {
      std::fill(got.begin(), got.end(), T{7});
      ToChannelsLast(three_, n, c, plane, sizeof(T), x.data(), got.data() + kGap, slices);
      ASSERT_EQ(got, want) << n << " x " << c << " x " << plane << ", " << slices;
    }
  }
};

TEST_P(ChannelsLastTest, MovesElements) {
  for (int round = 0; round < 60; ++round) {
    const int64_t n = RandomInt(0, 3), c = RandomInt(1, 40) * RandomInt(1, 9);
    const int64_t plane = RandomInt(1, 40) * RandomInt(1, 9);
    CheckMove<uint8_t>(n, c, plane);
    CheckMove<uint16_t>(n, c, plane);
    CheckMove<float>(n, c, plane);
    CheckMove<double>(n, c, plane);
  }
}

HR_KERNEL_TESTS(ChannelsLastTest);

}  // namespace
}  // namespace hr::cpu
