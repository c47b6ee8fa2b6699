// How far rounding takes the mean of a large image from the exact one, in each layout.
#include <numeric>

#include "backends/cpu/kernels/channels_last.h"
#include "backends/cpu/kernels/pool_batch_blocked.h"
#include "backends/cpu/kernels/pool_by_lanes.h"
#include "backends/cpu/kernels/pool_plain.h"
#include "tests/unit/cpu/blocked_testing.h"

namespace hr::cpu {
namespace {

// 1.5 times the error of PyTorch 2.15's mean of such images of 112 x 112 to 448 x 448 pixels.
constexpr double kMost = 2.4e-7;

class PoolAccuracy : public BlockedTest {
 protected:
  // Many equal numbers, as a ReLU and a normalization leave them: sums of them are always rounded
  // to the same side.
  PoolAccuracy() {
    for (float& value : Random<float>(kSize * kSize)) {
      pixels_.push_back(std::max(value, 0.0F) + 0.37F);
    }
  }

  static PoolShape Shape(int64_t n, int64_t c) { return GlobalPool(n, c, kSize, kSize); }

  // The plane one after the other, or all lanes of a pixel.
  Buffer<float>& Planes(int64_t size = kSize) {
    return Filled([=](int64_t i) { return i % (size * size); });
  }
  Buffer<float>& Pixels() {
    return Filled([](int64_t i) { return i / kLanesOfAll; });
  }

  void ExpectMean(Buffer<float>& y, int64_t size = kSize) {
    const auto end = pixels_.begin() + size * size;
    const double mean =
        std::accumulate(pixels_.begin(), end, 0.0) / static_cast<double>(size * size);
    for (int64_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i] / mean, 1, kMost) << i;
  }

  static constexpr int64_t kSize = 448, kLanesOfAll = 16;
  Buffer<float> y_{kLanesOfAll};

 private:
  template <typename Place>
  Buffer<float>& Filled(const Place& place) {
    for (int64_t i = 0; i < x_.size(); ++i) x_.data()[i] = pixels_[place(i)];
    return x_;
  }

  std::vector<float> pixels_;
  Buffer<float> x_{kSize * kSize * kLanesOfAll};
};

TEST_P(PoolAccuracy, PlainImages) {
  AveragePoolPlain<float>(three_, Shape(2, 8), Planes().data(), y_.data(), 4);
  ExpectMean(y_);
}

TEST_P(PoolAccuracy, PlainImagesByLanes) {
  constexpr int64_t kSmall = 112;
  const PoolShape shape = GlobalPool(2, 8, kSmall, kSmall);
  ASSERT_TRUE(CanPoolByLanes(shape));
  Buffer<float> scratch(static_cast<int64_t>(PoolByLanesBytes(shape, 4) / sizeof(float)));
  AveragePoolByLanes<float>(three_, shape, Planes(kSmall).data(), y_.data(), 4, scratch.data());
  ExpectMean(y_, kSmall);
}

TEST_P(PoolAccuracy, BatchBlockedImages) {
  static_assert(kBatchBlock<float> == kLanesOfAll);
  AveragePool<float>(three_, Shape(kLanesOfAll, 1), Pixels().data(), y_.data(), 4);
  ExpectMean(y_);
}

TEST_P(PoolAccuracy, ChannelsLastImages) {
  AveragePoolChannelsLast<float>(three_, Shape(1, kLanesOfAll), Pixels().data(), y_.data(), 4);
  ExpectMean(y_);
}

HR_KERNEL_TESTS(PoolAccuracy);

}  // namespace
}  // namespace hr::cpu
