#include "backends/cpu/kernels/split_conv_weights.h"

#include <array>
#include <cmath>

#include "backends/cpu/kernels/split_conv.h"
#include "tests/reference/conv.h"
#include "tests/unit/cpu/blocked_testing.h"
#include "tests/unit/cpu/random_shapes.h"

namespace hr::cpu {
namespace {

using reference::Values;

class SplitConvWeightsTest : public BlockedTest {
 protected:
  // A result over the sum of the magnitudes of its terms.
  static constexpr double kError = 4e-7;
  static constexpr float kInfinity = std::numeric_limits<float>::infinity();

  // Images, channels-last, and the same plain.
  struct Image {
    Image(int64_t images, int64_t channels, int64_t pixels, const std::vector<float>& values)
        : n(images), c(channels), plane(pixels), memory(n * c * plane) {
      std::copy(values.begin(), values.end(), memory.data());
    }
    Values plain() const {
      Values out(static_cast<size_t>(n * c * plane));
      for (int64_t i = 0; i < n * c * plane; ++i) {
        const int64_t at = (i / (plane * c) * c + i % c) * plane + i / c % plane;
        out[static_cast<size_t>(at)] = memory.data()[i];
      }
      return out;
    }
    int64_t n, c, plane;
    mutable Buffer<float> memory;  // of which tests change numbers
  };

  void SetUp() override {
    BlockedTest::SetUp();
    unit_ = SplitKernelsInUse();
    if (unit_ == nullptr) GTEST_SKIP() << "no matrix unit";
  }

  Image DrawX(const ConvShape& s) {
    return {s.n, s.ic, s.InputPlane(), Random<float>(s.n * s.ic * s.InputPlane())};
  }
  Image DrawGradient(const ConvShape& s) {
    return {s.n, s.oc, s.OutputPlane(), Random<float>(s.n * s.oc * s.OutputPlane())};
  }

  std::vector<float> Run(const ConvShape& s, const Image& x, const Image& dy, const Lease& threads,
                         int slices) {
    const SplitConvWeights conv(*unit_, s, slices);
    Buffer<float> dw(s.oc * s.Taps(), NAN);
    Buffer<float> scratch(static_cast<int64_t>(conv.scratch_bytes() / sizeof(float)), NAN);
    conv.Run(threads, x.memory.data(), dy.memory.data(), dw.data(), scratch.data());
    return {dw.data(), dw.data() + dw.size()};
  }

  void Check(const ConvShape& s) {
    SCOPED_TRACE(testing::Message() << s);
    ASSERT_TRUE(SplitConvTakes(s));
    const Image x = DrawX(s), dy = DrawGradient(s);
    const int slices = static_cast<int>(RandomInt(1, 5));
    const std::vector<float> got = Run(s, x, dy, three_, slices);
    Values sizes[] = {x.plain(), dy.plain()};
    const Values want = reference::ConvBackwardWeights(s, sizes[0], sizes[1]);
    for (Values& values : sizes) {
      for (double& v : values) v = std::abs(v);
    }
    const Values size = reference::ConvBackwardWeights(s, sizes[0], sizes[1]);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], want[i], kError * size[i]) << "at " << i << ", " << slices << " slices";
    }
    EXPECT_EQ(got, Run(s, x, dy, one_, slices));
  }

  // Whether what was drawn is found, and NaN and infinities where a product has them.
  static void ExpectSame(const std::vector<float>& got, const Values& want, float special) {
    for (size_t i = 0; i < got.size(); ++i) {
      if (std::isnan(want[i])) {
        ASSERT_TRUE(std::isnan(got[i])) << special << " at " << i << ": " << got[i];
      } else if (std::isinf(want[i]) || std::abs(want[i]) > 3.4e38) {
        ASSERT_EQ(got[i], std::copysign(kInfinity, want[i])) << special << " at " << i;
      } else {
        ASSERT_NEAR(got[i], want[i], 1e-4 + 1e-6 * std::abs(want[i])) << special << " at " << i;
      }
    }
  }

  const SplitKernels* unit_ = nullptr;
};

TEST_P(SplitConvWeightsTest, AgreesWithTheDefinition) {
  for (int round = 0; round < 200 && !HasFatalFailure(); ++round) {
    ConvShape s = RandomConv(Any(), 4);
    s.groups = 1, s.ic = RandomInt(1, round % 2 == 0 ? 80 : 10), s.oc = RandomInt(1, 80);
    if (round % 3 == 0) s.oc = RoundUp(s.oc, 32);
    Check(s);
  }
}

// Images that are cut into bands, and some that are together in a unit; each way of sharing work;
// taps that share columns, and some that do not.
TEST_P(SplitConvWeightsTest, Sizes) {
  for (const ConvShape& s :
       {SquareConv(1, 64, 64, 3, 40), SquareConv(3, 64, 40, 3, 28), SquareConv(9, 96, 64, 3, 7),
        SquareConv(5, 64, 64, 3, 4), SquareConv(13, 32, 32, 3, 2), SquareConv(2, 130, 256, 3, 7),
        SquareConv(2, 64, 256, 1, 20), SquareConv(1, 1024, 260, 1, 12),
        SquareConv(2, 48, 34, 1, 13), SquareConv(2, 64, 64, 3, 14, 2),
        SquareConv(3, 128, 96, 1, 14, 2), SquareConv(1, 32, 32, 5, 30, 3),
        SquareConv(2, 16, 16, 3, 70), SquareConv(2, 33, 65, 3, 21, 1, 2),
        SquareConv(1, 40, 40, 7, 33, 2, 3)}) {
    if (!HasFatalFailure()) Check(s);
  }
}

// Infinities, NaNs and large numbers come to the taps that read them, and to no others: neither
// padding nor places between rows of outputs, whose windows begin at the last column, make more.
TEST_P(SplitConvWeightsTest, SpecialNumbers) {
  constexpr float kLarge = 3.4e38F;
  for (const int64_t size : {3, 14}) {
    for (const float special : {kInfinity, -kInfinity, NAN, kLarge, -kLarge}) {
      for (const bool of_gradient : {false, true}) {
        ConvShape s = SquareConv(2, 40, 36, 3, size, size == 14 ? 1 : 2);
        if (of_gradient) s.pad_top = s.pad_bottom = s.pad_left = s.pad_right = 0;
        s.DeriveOutput();
        const Image x = DrawX(s), dy = DrawGradient(s);
        const Image& image = of_gradient ? dy : x;
        const int64_t width = of_gradient ? s.ow : s.iw;
        const int64_t pixel = RandomInt(1, image.n * image.plane / width) * width - 1;
        image.memory.data()[pixel * image.c + RandomInt(0, image.c - 1)] = special;
        const Values want = reference::ConvBackwardWeights(s, x.plain(), dy.plain());
        ExpectSame(Run(s, x, dy, three_, 3), want, special);
      }
    }
  }
}

// Small gradients, as late steps have them, keep their bits, also by small numbers.
TEST_P(SplitConvWeightsTest, SmallNumbers) {
  for (const auto& [of_x, of_gradient] :
       {std::array{1.F, 0x1p-30F}, std::array{1.F, 0x1p-100F}, std::array{0x1p-50F, 0x1p-70F}}) {
    const ConvShape s = SquareConv(2, 40, 36, 3, 14);
    const Image x = DrawX(s), dy = DrawGradient(s);
    for (int64_t i = 0; i < x.memory.size(); ++i) x.memory.data()[i] *= of_x;
    for (int64_t i = 0; i < dy.memory.size(); ++i) dy.memory.data()[i] *= of_gradient;
    const Values want = reference::ConvBackwardWeights(s, x.plain(), dy.plain());
    const std::vector<float> got = Run(s, x, dy, three_, 2);
    const double scale = static_cast<double>(of_x) * of_gradient;
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i] / scale, want[i] / scale, 1e-4) << scale << " at " << i;
    }
  }
}

// Sums over many places are made in parts: those of positive terms lose no more than short ones.
TEST_P(SplitConvWeightsTest, LongSums) {
  const ConvShape s = SquareConv(4, 16, 16, 1, 100);
  const Image x = DrawX(s), dy = DrawGradient(s);
  for (const Image* image : {&x, &dy}) {
    for (int64_t i = 0; i < image->memory.size(); ++i) {
      image->memory.data()[i] = 1 + std::abs(image->memory.data()[i]);
    }
  }
  const Values want = reference::ConvBackwardWeights(s, x.plain(), dy.plain());
  const std::vector<float> got = Run(s, x, dy, one_, 1);
  double square = 0;
  for (size_t i = 0; i < got.size(); ++i) square += std::pow(got[i] / want[i] - 1, 2);
  EXPECT_LT(std::sqrt(square / static_cast<double>(got.size())), 4e-7);
}

TEST_P(SplitConvWeightsTest, WithoutImages) { Check(SquareConv(0, 32, 32, 3, 5)); }

HR_KERNEL_TESTS(SplitConvWeightsTest);

}  // namespace
}  // namespace hr::cpu
