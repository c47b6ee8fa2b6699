#include "backends/cpu/kernels/split_conv.h"

#include <cmath>

#include "tests/reference/conv.h"
#include "tests/unit/cpu/blocked_testing.h"
#include "tests/unit/cpu/random_shapes.h"

namespace hr::cpu {
namespace {

using reference::Values;

// A result over the sum of the magnitudes of its terms.
constexpr double kError = 4e-7;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

class SplitConvTest : public BlockedTest {
 protected:
  void SetUp() override {
    BlockedTest::SetUp();
    unit_ = SplitKernelsInUse();
    if (unit_ == nullptr) GTEST_SKIP() << "no matrix unit";
  }

  // Of a size of memory, which holds what would be found out if it were taken for a number.
  static int64_t FloatsOf(size_t bytes) { return static_cast<int64_t>(bytes / sizeof(float)); }
  Values Draw(int64_t count) {
    const std::vector<float> numbers = Random<float>(count);
    return {numbers.begin(), numbers.end()};
  }

  std::vector<float> RunImage(const ConvShape& s, ImagePass pass, const Lease& threads, bool packed,
                              int slices, ConvImageMemory<float> memory) {
    const SplitConv conv(*unit_, s, pass, packed, slices);
    const bool forward = pass == ImagePass::kForward;
    Buffer<float> y(s.n * (forward ? s.oc * s.OutputPlane() : s.ic * s.InputPlane()), NAN);
    Buffer<float> scratch(FloatsOf(conv.scratch_bytes()), NAN);
    Buffer<float> weights(FloatsOf(conv.packed_bytes()), NAN);
    Buffer<float> packing(FloatsOf(conv.pack_scratch_bytes()), NAN);
    if (packed) {
      conv.Pack(threads, memory.weights, weights.data(), packing.data());
      memory.weights = weights.data();
    }
    memory.result = y.data();
    conv.Run(threads, memory, scratch.data());
    return {y.data(), y.data() + y.size()};
  }

  static void Fill(Buffer<float>& to, const Values& plain, int64_t n, int64_t c) {
    const int64_t plane = n * c == 0 ? 0 : static_cast<int64_t>(plain.size()) / (n * c);
    for (int64_t i = 0; i < to.size(); ++i) {
      const int64_t at = (i / (plane * c) * c + i % c) * plane + i / c % plane;
      to.data()[i] = static_cast<float>(plain[static_cast<size_t>(at)]);
    }
  }
  static void ExpectNear(const std::vector<float>& got, const Values& want, const Values& sizes,
                         int64_t c, int64_t plane) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      const auto p = static_cast<int64_t>(i);
      const int64_t at = (p / (plane * c) * c + p % c) * plane + p / c % plane;
      ASSERT_NEAR(got[i], want[static_cast<size_t>(at)],
                  kError * (sizes[static_cast<size_t>(at)] + 1))
          << "at " << i << " of " << got.size();
    }
  }
  static Values Sizes(Values values) {
    for (double& v : values) v = std::abs(v);
    return values;
  }

  void Check(const ConvShape& s) {
    SCOPED_TRACE(testing::Message() << s);
    ASSERT_TRUE(SplitConvTakes(s));
    const int64_t outputs = s.n * s.oc * s.OutputPlane();
    const Values x = Draw(s.n * s.ic * s.InputPlane()), w = Draw(s.oc * s.Taps());
    const Values dy = Draw(outputs);
    const Values scale = Draw(s.oc), bias = Draw(s.oc);
    const Values residual = Draw(outputs);
    const int slices = static_cast<int>(RandomInt(1, 5));
    const bool packed = RandomInt(0, 1) == 0, ends = RandomInt(0, 1) == 0;
    Buffer<float> bx(x.size()), bw(w.size()), bdy(dy.size());
    Buffer<float> bs(scale.size()), bb(bias.size()), br(residual.size());
    Fill(bx, x, s.n, s.ic), Fill(bdy, dy, s.n, s.oc), Fill(br, residual, s.n, s.oc);
    Fill(bw, w, 1, 1), Fill(bs, scale, 1, 1), Fill(bb, bias, 1, 1);
    Values y = reference::Conv(s, x, w, {});
    Values size = reference::Conv(s, Sizes(x), Sizes(w), {});
    ConvEpilogue<float> end;
    if (ends) {
      end = {bs.data(), bb.data(), br.data(), -0.5F, 0.75F};
      for (size_t i = 0; i < y.size(); ++i) {
        const size_t c = i / static_cast<size_t>(s.OutputPlane()) % static_cast<size_t>(s.oc);
        y[i] = std::clamp(y[i] * scale[c] + bias[c] + residual[i], -0.5, 0.75);
        size[i] += 2;
      }
    }
    const auto run = [&](ImagePass pass, const Lease& threads) {
      return pass == ImagePass::kForward
                 ? RunImage(s, pass, threads, packed, slices, {bx.data(), bw.data(), nullptr, end})
                 : RunImage(s, pass, threads, packed, slices, {bdy.data(), bw.data(), nullptr, {}});
    };
    const auto forward = run(ImagePass::kForward, three_);
    ExpectNear(forward, y, size, s.oc, s.OutputPlane());
    EXPECT_EQ(forward, run(ImagePass::kForward, one_));
    const auto backward = run(ImagePass::kBackwardData, three_);
    ExpectNear(backward, reference::ConvBackwardData(s, w, dy),
               reference::ConvBackwardData(s, Sizes(w), Sizes(dy)), s.ic, s.InputPlane());
    EXPECT_EQ(backward, run(ImagePass::kBackwardData, one_));
  }

  const SplitKernels* unit_ = nullptr;
};

TEST_P(SplitConvTest, AgreesWithTheDefinition) {
  for (int round = 0; round < 150 && !HasFatalFailure(); ++round) {
    ConvShape s = RandomConv(Any(), 4);
    s.groups = 1, s.ic = RandomInt(1, round % 2 == 0 ? 80 : 10), s.oc = RandomInt(1, 80);
    if (round % 3 == 0) s.ic = RoundUp(s.ic, 32);
    Check(s);
  }
}

// Images that are cut into bands, and some that are together in a frame; weights that the cache
// keeps, and some that it does not.
TEST_P(SplitConvTest, Sizes) {
  for (const ConvShape& s :
       {SquareConv(1, 64, 64, 3, 40), SquareConv(3, 64, 40, 3, 28), SquareConv(9, 96, 64, 3, 7),
        SquareConv(5, 64, 64, 3, 4), SquareConv(13, 32, 32, 3, 2), SquareConv(2, 256, 130, 3, 7),
        SquareConv(2, 64, 256, 1, 20), SquareConv(1, 1024, 260, 1, 12),
        SquareConv(2, 48, 34, 1, 13), SquareConv(2, 64, 64, 3, 14, 2),
        SquareConv(3, 128, 96, 1, 14, 2), SquareConv(1, 32, 32, 5, 30, 3)}) {
    if (!HasFatalFailure()) Check(s);
  }
}

// Infinities and NaNs, of the image and of the weights, come to the outputs that read them, and to
// no others; large numbers are numbers.
TEST_P(SplitConvTest, SpecialNumbers) {
  constexpr float kLarge = 3.4e38F;
  for (const int64_t channels : {5, 64}) {
    for (const float special : {kInfinity, -kInfinity, NAN, kLarge, -kLarge}) {
      for (const bool of_weights : {false, true}) {
        ConvShape s = SquareConv(2, channels, 40, 3, 6);
        // Which also meet padding.
        if (of_weights) s.pad_top = s.pad_bottom = s.pad_left = s.pad_right = 0;
        s.DeriveOutput();
        const std::vector<float> image = Random<float>(s.n * s.ic * s.InputPlane());
        const std::vector<float> filters = Random<float>(s.oc * s.Taps());
        Buffer<float> x(static_cast<int64_t>(image.size())), w(s.oc * s.Taps());
        std::copy(image.begin(), image.end(), x.data());
        std::copy(filters.begin(), filters.end(), w.data());
        (of_weights ? w : x).data()[RandomInt(0, (of_weights ? w : x).size() - 1)] = special;
        Values plain(static_cast<size_t>(x.size()));
        for (int64_t i = 0; i < x.size(); ++i) {
          const int64_t plane = s.InputPlane(), n = i / (plane * s.ic);
          plain[static_cast<size_t>((n * s.ic + i % s.ic) * plane + i / s.ic % plane)] = x[i];
        }
        const Values want = reference::Conv(s, plain, {w.data(), w.data() + w.size()}, {});
        const auto got = RunImage(s, ImagePass::kForward, three_, of_weights, 3,
                                  {x.data(), w.data(), nullptr, {}});
        for (size_t i = 0; i < got.size(); ++i) {
          const auto p = static_cast<int64_t>(i);
          const int64_t plane = s.OutputPlane(), n = p / (plane * s.oc);
          const double y =
              want[static_cast<size_t>((n * s.oc + p % s.oc) * plane + p / s.oc % plane)];
          if (std::isnan(y)) {
            ASSERT_TRUE(std::isnan(got[i])) << special << " at " << i << ": " << got[i];
          } else if (std::isinf(y)) {
            ASSERT_EQ(got[i], y) << special << " at " << i;
          } else {
            ASSERT_NEAR(got[i], y, 1e-4 + 1e-6 * std::abs(y)) << special << " at " << i;
          }
        }
      }
    }
  }
}

TEST_P(SplitConvTest, WithoutImages) { Check(SquareConv(0, 32, 32, 3, 5)); }

HR_KERNEL_TESTS(SplitConvTest);

}  // namespace
}  // namespace hr::cpu
