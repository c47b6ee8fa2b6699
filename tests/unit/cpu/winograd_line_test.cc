#include "backends/cpu/kernels/winograd_line.h"

#include "backends/cpu/kernels/conv_channels_last.h"
#include "tests/reference/conv.h"
#include "tests/unit/cpu/blocked_testing.h"

namespace hr::cpu {
namespace {

using Values = reference::Values;

struct Case {
  int64_t n, ic, oc, taps, size, across, pad;
};

ConvShape ShapeOf(const Case& one, bool rows) {
  ConvShape s;
  s.n = one.n, s.ic = one.ic, s.oc = one.oc;
  (rows ? s.kh : s.kw) = one.taps;
  (rows ? s.ih : s.iw) = one.size;
  (rows ? s.iw : s.ih) = one.across;
  (rows ? s.pad_top : s.pad_left) = one.pad;
  (rows ? s.pad_bottom : s.pad_right) = one.pad;
  s.DeriveOutput();
  return s;
}

class WinogradLineTest : public BlockedTest {
 protected:
  // Channels last.
  Values Expected(const ConvShape& s, const std::vector<float>& x, const std::vector<float>& w) {
    Values plain(x.size());
    const int64_t plane = s.InputPlane();
    for (int64_t i = 0; i < static_cast<int64_t>(x.size()); ++i)
      plain[(i / s.ic / plane * s.ic + i % s.ic) * plane + i / s.ic % plane] = x[i];
    const Values y = reference::Conv(s, plain, Values(w.begin(), w.end()), {});
    Values out(y.size());
    const int64_t pixels = s.OutputPlane();
    for (int64_t i = 0; i < static_cast<int64_t>(y.size()); ++i)
      out[i] = y[(i / s.oc / pixels * s.oc + i % s.oc) * pixels + i / s.oc % pixels];
    return out;
  }

  // y, from memory in which whatever is not written stays infinite.
  std::vector<float> Run(const Lease& threads, const ConvShape& s, int slices,
                         const std::vector<float>& x, const std::vector<float>& w,
                         ConvEpilogue<float> epilogue = {}) {
    const WinogradLine line(s, slices);
    Buffer<float> image(x.size()), packed(line.packed_bytes() / sizeof(float));
    Buffer<float> scratch(line.scratch_bytes() / sizeof(float));
    Buffer<float> y(s.n * s.oc * s.OutputPlane());
    std::copy(x.begin(), x.end(), image.data());
    std::fill_n(scratch.data(), scratch.size(), INFINITY);
    std::fill_n(y.data(), y.size(), INFINITY);
    line.Pack(threads, w.data(), packed.data());
    line.Run(threads, {image.data(), packed.data(), y.data(), epilogue}, scratch.data());
    return {y.data(), y.data() + y.size()};
  }

  static double ErrorOf(const std::vector<float>& got, const Values& want) {
    double errors = 0, squares = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      errors += (got[i] - want[i]) * (got[i] - want[i]);
      squares += want[i] * want[i];
    }
    return std::sqrt(errors / squares);
  }
};

// Every number of taps, whole and broken tiles, padding, few and many tiles, along both axes.
TEST_P(WinogradLineTest, AgreesWithTheDefinition) {
  const Case cases[] = {{1, 64, 64, 3, 12, 1, 0},   {2, 64, 80, 3, 19, 3, 1},
                        {1, 80, 96, 4, 13, 2, 2},   {3, 64, 64, 5, 33, 1, 2},
                        {1, 256, 64, 5, 40, 1, 0},  {1, 64, 160, 6, 17, 5, 1},
                        {2, 64, 64, 7, 11, 100, 3}, {1, 64, 64, 5, 14, 90, 4}};
  for (const Case& one : cases) {
    for (const bool rows : {false, true}) {
      const ConvShape s = ShapeOf(one, rows);
      ASSERT_TRUE(WinogradLinePays(s));
      const auto x = Random<float>(s.n * s.ic * s.InputPlane());
      const auto w = Random<float>(s.oc * s.Taps());
      const Values want = Expected(s, x, w);
      const std::vector<float> got = Run(three_, s, 3, x, w);
      EXPECT_LT(ErrorOf(got, want), 4e-6) << one.taps << " taps " << one.size << " " << rows;
      EXPECT_EQ(Run(Lease(), s, 3, x, w), got) << "on one thread";
      EXPECT_LT(ErrorOf(Run(three_, s, 1, x, w), want), 4e-6);
    }
  }
}

TEST_P(WinogradLineTest, Finishes) {
  const ConvShape s = ShapeOf({2, 64, 96, 5, 18, 3, 2}, true);
  const auto x = Random<float>(s.n * s.ic * s.InputPlane());
  const auto w = Random<float>(s.oc * s.Taps()), scale = Random<float>(s.oc);
  const auto bias = Random<float>(s.oc), residual = Random<float>(s.n * s.oc * s.OutputPlane());
  Buffer<float> a(s.oc), b(s.oc), r(residual.size());
  std::copy(scale.begin(), scale.end(), a.data());
  std::copy(bias.begin(), bias.end(), b.data());
  std::copy(residual.begin(), residual.end(), r.data());
  Values want = Expected(s, x, w);
  for (size_t i = 0; i < want.size(); ++i) {
    const size_t c = i % static_cast<size_t>(s.oc);
    want[i] = std::clamp(want[i] * scale[c] + bias[c] + residual[i], -1.0, 2.0);
  }
  const auto got = Run(three_, s, 2, x, w, {a.data(), b.data(), r.data(), -1.0F, 2.0F});
  EXPECT_LT(ErrorOf(got, want), 4e-6);
}

// PyTorch 2.15 (AVX-512, two threads): rms(y - exact) / rms(exact) over all of y for
//   torch.manual_seed(1); x = torch.rand(1, 256, 128, 1) * 2 - 1; w = torch.rand(64, 256, k, 1) * 2
//   - 1 y = torch.nn.functional.conv2d(x, w); exact = torch.nn.functional.conv2d(x.double(),
//   w.double())
TEST_P(WinogradLineTest, IsWithinEightTimesPyTorch) {
  constexpr std::pair<int64_t, double> kErrors[] = {{3, 1.46e-7}, {5, 1.76e-7}, {7, 2.01e-7}};
  for (const auto& [taps, error] : kErrors) {
    const ConvShape s = ShapeOf({1, 256, 64, taps, 128, 1, 0}, true);
    const auto x = Random<float>(s.n * s.ic * s.InputPlane());
    const auto w = Random<float>(s.oc * s.Taps());
    EXPECT_LT(ErrorOf(Run(three_, s, 1, x, w), Expected(s, x, w)), 8 * error) << taps;
  }
}

TEST(WinogradLine, TakesOneAxisOfManyChannels) {
  EXPECT_TRUE(WinogradLinePays(ShapeOf({1, 256, 512, 5, 512, 1, 0}, true)));
  EXPECT_FALSE(WinogradLinePays(ShapeOf({1, 256, 512, 9, 512, 1, 0}, true)));
  EXPECT_FALSE(WinogradLinePays(ShapeOf({1, 256, 512, 5, 8, 1, 0}, true)));
  EXPECT_FALSE(WinogradLinePays(ShapeOf({1, 24, 512, 5, 512, 1, 0}, true)));
  ConvShape s = ShapeOf({1, 64, 64, 5, 32, 32, 0}, true);
  s.kw = 3;
  s.DeriveOutput();
  EXPECT_FALSE(WinogradLinePays(s)) << "two axes";
  s = ShapeOf({1, 64, 64, 5, 64, 1, 0}, false);
  s.sw = 2;
  s.DeriveOutput();
  EXPECT_FALSE(WinogradLinePays(s)) << "a stride";
}

HR_KERNEL_TESTS(WinogradLineTest);

}  // namespace
}  // namespace hr::cpu
