#include "backends/cpu/kernels/winograd_channels_last.h"

#include "backends/cpu/kernels/winograd_channels_last_weights.h"
#include "tests/reference/conv.h"
#include "tests/unit/cpu/blocked_testing.h"
#include "tests/unit/cpu/random_shapes.h"

namespace hr::cpu {
namespace {

class WinogradChannelsLastTest : public BlockedTest {
 protected:
  using Values = reference::Values;

  // [n][c][plane] from [n][plane][c].
  static Values Plain(const std::vector<float>& from, int64_t c, int64_t plane) {
    Values out(from.size());
    for (size_t i = 0; i < from.size(); ++i) {
      const auto at = static_cast<int64_t>(i), pixel = at / c;
      out[static_cast<size_t>((pixel / plane * c + at % c) * plane + pixel % plane)] = from[i];
    }
    return out;
  }

  // The result, from memory in which whatever is not written stays infinite.
  std::vector<float> Run(const Lease& threads, const ConvShape& s, ImagePass pass,
                         const WinogradMethod& method, int slices, const std::vector<float>& image,
                         const std::vector<float>& w, ConvEpilogue<float> epilogue = {}) {
    const bool packed = method.packed;
    const WinogradChannelsLast conv(s, pass, method, slices);
    const bool forward = pass == ImagePass::kForward;
    const int64_t pixels = forward ? s.OutputPlane() : s.InputPlane();
    Buffer<float> from(image.size()), weights(w.size());
    Buffer<float> memory(conv.packed_bytes() / sizeof(float), INFINITY);
    Buffer<float> scratch(conv.scratch_bytes() / sizeof(float), INFINITY);
    Buffer<float> result(s.n * pixels * (forward ? s.oc : s.ic), INFINITY);
    std::copy(image.begin(), image.end(), from.data());
    std::copy(w.begin(), w.end(), weights.data());
    if (packed) conv.Pack(threads, weights.data(), memory.data());
    conv.Run(threads,
             {from.data(), packed ? memory.data() : weights.data(), result.data(), epilogue},
             scratch.data());
    return {result.data(), result.data() + result.size()};
  }

  std::vector<float> RunWeights(const Lease& threads, const ConvShape& s, WinogradTiling tiling,
                                int slices, const std::vector<float>& x,
                                const std::vector<float>& dy) {
    const WinogradChannelsLastWeights conv(s, tiling, slices);
    Buffer<float> image(x.size()), gradient(dy.size()), dw(s.oc * s.Taps(), INFINITY);
    Buffer<float> scratch(conv.scratch_bytes() / sizeof(float), INFINITY);
    std::copy(x.begin(), x.end(), image.data());
    std::copy(dy.begin(), dy.end(), gradient.data());
    conv.Run(threads, image.data(), gradient.data(), dw.data(), scratch.data());
    return {dw.data(), dw.data() + dw.size()};
  }

  static double ErrorOf(const Values& got, const Values& want) {
    double errors = 0, squares = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      errors += (got[i] - want[i]) * (got[i] - want[i]);
      squares += want[i] * want[i];
    }
    return std::sqrt(errors / squares);
  }

  WinogradTiling RandomTiling(const ConvShape& s) {
    const bool small = WinogradHasSmallTiles(s) && RandomInt(0, 1) == 0;
    return small ? WinogradTiling::kSmall : WinogradTiling::kLarge;
  }

  ConvShape RandomShape() {
    ConvShape s;
    s.n = RandomInt(1, 4), s.ic = 16 * RandomInt(1, 6), s.oc = 16 * RandomInt(1, 6);
    s.kh = RandomInt(3, 7), s.kw = RandomInt(3, 7);
    if (RandomInt(0, 2) == 0) s.kh = s.kw = 3;  // which may have small tiles
    s.pad_top = RandomInt(0, s.kh - 1), s.pad_bottom = RandomInt(0, s.kh - 1);
    s.pad_left = RandomInt(0, s.kw - 1), s.pad_right = RandomInt(0, s.kw - 1);
    s.ih = s.kh + RandomInt(0, 12), s.iw = s.kw + RandomInt(0, 12);
    s.DeriveOutput();
    return s;
  }

  void Check(const ConvShape& s) {
    SCOPED_TRACE(testing::Message() << s);
    ASSERT_TRUE(WinogradTakesChannelsLast(s));
    const auto w = Random<float>(s.oc * s.Taps());
    const Values exact_w(w.begin(), w.end());
    const int slices = static_cast<int>(RandomInt(1, 5));
    for (const ImagePass pass : {ImagePass::kForward, ImagePass::kBackwardData}) {
      const bool forward = pass == ImagePass::kForward;
      const WinogradMethod method{RandomTiling(s), RandomInt(0, 1) == 0};
      const int64_t in = forward ? s.ic : s.oc, out = forward ? s.oc : s.ic;
      const int64_t from = forward ? s.InputPlane() : s.OutputPlane();
      const int64_t to = forward ? s.OutputPlane() : s.InputPlane();
      const auto image = Random<float>(s.n * in * from);
      const auto got = Run(three_, s, pass, method, slices, image, w);
      const Values exact = Plain(image, in, from);
      const Values want = forward ? reference::Conv(s, exact, exact_w, {})
                                  : reference::ConvBackwardData(s, exact_w, exact);
      EXPECT_LT(ErrorOf(Plain(got, out, to), want), 5e-6) << (forward ? "forward" : "backward");
      EXPECT_EQ(Run(one_, s, pass, method, slices, image, w), got) << "on one thread";
    }
    const auto x = Random<float>(s.n * s.ic * s.InputPlane());
    const auto dy = Random<float>(s.n * s.oc * s.OutputPlane());
    const WinogradTiling tiling = RandomTiling(s);
    const auto got = RunWeights(three_, s, tiling, slices, x, dy);
    const Values want = reference::ConvBackwardWeights(s, Plain(x, s.ic, s.InputPlane()),
                                                       Plain(dy, s.oc, s.OutputPlane()));
    EXPECT_LT(ErrorOf({got.begin(), got.end()}, want), 5e-6) << "weights";
    EXPECT_EQ(RunWeights(one_, s, tiling, slices, x, dy), got) << "on one thread";
  }
};

TEST_P(WinogradChannelsLastTest, AgreesWithTheDefinition) {
  for (int round = 0; round < Rounds(12) && !HasFailure(); ++round) Check(RandomShape());
}

// More channels than a sum takes at once, than are finished at once, and than a block of tiles has
// room for; more rows of tiles than a block, of the gradient's, too.
TEST_P(WinogradChannelsLastTest, CutsTilesAndChannels) {
  for (const auto& [n, ic, oc, size] : {std::array<int64_t, 4>{1, 272, 144, 4},
                                        {3, 512, 32, 5},
                                        {3, 80, 96, 9},
                                        {1, 32, 272, 12},
                                        {1, 64, 80, 31}}) {
    ConvShape s;
    s.n = n, s.ic = ic, s.oc = oc, s.ih = s.iw = size, s.kh = s.kw = 3;
    s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = 1;
    s.DeriveOutput();
    Check(s);
  }
}

TEST_P(WinogradChannelsLastTest, Finishes) {
  ConvShape s = RandomShape();
  const auto x = Random<float>(s.n * s.ic * s.InputPlane()), w = Random<float>(s.oc * s.Taps());
  const auto scale = Random<float>(s.oc), bias = Random<float>(s.oc);
  const auto residual = Random<float>(s.n * s.oc * s.OutputPlane());
  const WinogradMethod method{RandomTiling(s), true};
  const auto none = Run(three_, s, ImagePass::kForward, method, 2, x, w);
  const auto got = Run(three_, s, ImagePass::kForward, method, 2, x, w,
                       {scale.data(), bias.data(), residual.data(), -1.0F, 2.0F});
  for (size_t i = 0; i < got.size(); ++i) {
    const size_t c = i % static_cast<size_t>(s.oc);
    const float want = std::clamp(none[i] * scale[c] + bias[c] + residual[i], -1.0F, 2.0F);
    ASSERT_NEAR(got[i], want, 1e-5) << i;
  }
}

HR_KERNEL_TESTS(WinogradChannelsLastTest);

}  // namespace
}  // namespace hr::cpu
