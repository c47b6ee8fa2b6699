// The maximum of a window with a NaN is NaN wherever it stands, and takes the gradient, in each
// layout.
#include <cmath>
#include <limits>

#include "backends/cpu/kernels/channels_last.h"
#include "backends/cpu/kernels/pool_batch_blocked.h"
#include "backends/cpu/kernels/pool_by_lanes.h"
#include "backends/cpu/kernels/pool_plain.h"
#include "tests/unit/cpu/blocked_testing.h"

namespace hr::cpu {
namespace {

class PoolNaN : public BlockedTest {
 protected:
  static constexpr int64_t kSize = 3, kPixels = kSize * kSize, kNaN = 4, kLanesOfAll = 16;

  PoolNaN() {
    for (int64_t i = 0; i < kLanesOfAll; ++i) dy_.data()[i] = 2;
  }

  static PoolShape Shape(int64_t n, int64_t c) { return GlobalPool(n, c, kSize, kSize); }

  // A plane is 0, 1, …, with a NaN in the middle.
  Buffer<float>& Planes() {
    return Filled([](int64_t i) { return i % kPixels; });
  }
  Buffer<float>& Pixels() {
    return Filled([](int64_t i) { return i / kLanesOfAll; });
  }

  template <typename Place>
  void ExpectNaN(const Place& pixel_of) {
    for (int64_t i = 0; i < y_.size(); ++i) ASSERT_TRUE(std::isnan(y_[i])) << i;
    for (int64_t i = 0; i < dx_.size(); ++i) ASSERT_EQ(dx_[i], pixel_of(i) == kNaN ? 2 : 0) << i;
  }
  void ExpectPlanes() {
    ExpectNaN([](int64_t i) { return i % kPixels; });
  }
  void ExpectPixels() {
    ExpectNaN([](int64_t i) { return i / kLanesOfAll; });
  }

  Buffer<float> y_{kLanesOfAll}, dy_{kLanesOfAll}, dx_{kPixels * kLanesOfAll};

 private:
  template <typename Place>
  Buffer<float>& Filled(const Place& pixel_of) {
    for (int64_t i = 0; i < x_.size(); ++i) {
      const int64_t pixel = pixel_of(i);
      x_.data()[i] =
          pixel == kNaN ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(pixel);
    }
    return x_;
  }

  Buffer<float> x_{kPixels * kLanesOfAll};
};

TEST_P(PoolNaN, PlainImages) {
  const PoolShape shape = Shape(2, 8);
  Buffer<int64_t> argmax(kLanesOfAll);
  MaxPoolPlain<float>(three_, shape, Planes().data(), y_.data(), argmax.data(), 4);
  MaxPoolPlainBackward<float>(three_, shape, dy_.data(), argmax.data(), dx_.data(), 4);
  ExpectPlanes();
}

TEST_P(PoolNaN, PlainImagesByLanes) {
  const PoolShape shape = Shape(2, 8);
  ASSERT_TRUE(CanPoolByLanes(shape));
  Buffer<float> scratch(static_cast<int64_t>(PoolByLanesBytes(shape, 4) / sizeof(float)));
  const float* const x = Planes().data();
  MaxPoolByLanes<float>(three_, shape, x, y_.data(), 4, scratch.data());
  MaxPoolByLanesBackward<float>(three_, shape, dy_.data(), x, dx_.data(), 4, scratch.data());
  ExpectPlanes();
}

TEST_P(PoolNaN, BatchBlockedImages) {
  static_assert(kBatchBlock<float> == kLanesOfAll);
  const PoolShape shape = Shape(kLanesOfAll, 1);
  Buffer<uint8_t> argmax(kLanesOfAll);
  MaxPool<float>(three_, shape, Pixels().data(), y_.data(), argmax.data(), 4);
  MaxPoolBackward<float>(three_, shape, dy_.data(), argmax.data(), dx_.data(), 4);
  ExpectPixels();
}

TEST_P(PoolNaN, ChannelsLastImages) {
  const PoolShape shape = Shape(1, kLanesOfAll);
  const float* const x = Pixels().data();
  MaxPoolChannelsLast<float>(three_, shape, x, y_.data(), 4);
  MaxPoolChannelsLastBackward<float>(three_, shape, dy_.data(), x, dx_.data(), 4);
  ExpectPixels();
}

HR_KERNEL_TESTS(PoolNaN);

}  // namespace
}  // namespace hr::cpu
