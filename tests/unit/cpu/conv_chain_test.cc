#include "backends/cpu/kernels/conv_chain.h"

#include "backends/cpu/kernels/conv_channels_last.h"
#include "backends/cpu/kernels/depthwise_channels_last.h"
#include "tests/unit/cpu/blocked_testing.h"
#include "tests/unit/cpu/random_shapes.h"

namespace hr::cpu {
namespace {

class ConvChainTest : public BlockedTest {
 protected:
  // `before` and `behind` pointwise ones around a depthwise one.
  std::vector<ConvShape> RandomChain(int before, int behind) {
    ConvShape window;
    window.n = RandomInt(1, 5);
    window.kh = RandomInt(1, 4), window.kw = RandomInt(1, 4);
    if (window.kh * window.kw == 1) window.kh = 3;
    RandomWindow(Any(), true, window);
    window.ih += RandomInt(0, 12);
    window.DeriveOutput();
    window.ic = window.oc = window.groups = RandomInt(2, 40);
    std::vector<ConvShape> out;
    for (int i = 0; i < before; ++i) {
      const bool last = i + 1 == before;
      out.push_back(Pointwise(window.n, i == 0 ? RandomInt(1, 30) : out.back().oc, window.ih,
                              window.iw, last ? window.ic : RandomInt(1, 30)));
    }
    out.push_back(window);
    for (int i = 0; i < behind; ++i) {
      out.push_back(Pointwise(window.n, out.back().oc, window.oh, window.ow, RandomInt(1, 40)));
    }
    return out;
  }
  static ConvShape Pointwise(int64_t n, int64_t ic, int64_t h, int64_t w, int64_t oc) {
    ConvShape s;
    s.n = n, s.ic = ic, s.oc = oc;
    s.ih = s.oh = h, s.iw = s.ow = w;
    return s;
  }

  static std::unique_ptr<BandConv> Make(const ConvShape& s, bool packed, int slices) {
    if (IsDepthwise(s)) return Of<DepthwiseChannelsLast<float>>(s, packed, slices);
    return Of<ConvChannelsLast<float>>(s, packed, slices);
  }
  template <typename Conv>
  static std::unique_ptr<BandConv> Of(const ConvShape& s, bool packed, int slices) {
    return std::make_unique<BandConvOf<Conv>>(
        std::make_shared<const Conv>(s, ImagePass::kForward, packed, slices));
  }

  // Operands of a chain, and the image between each two of its convolutions.
  struct Case {
    std::vector<ConvShape> convs;
    std::vector<std::unique_ptr<Buffer<float>>> weights, ends, images;
    std::vector<ConvImageMemory<float>> members;
  };
  std::unique_ptr<Buffer<float>> Random(int64_t count) {
    auto out = std::make_unique<Buffer<float>>(count);
    Fill(*out, RandomValues(count));
    return out;
  }
  Case MakeCase(std::vector<ConvShape> convs) {
    Case out;
    out.images.push_back(Random(convs[0].n * convs[0].ic * convs[0].InputPlane()));
    for (const ConvShape& s : convs) {
      const int64_t made = s.n * s.oc * s.OutputPlane();
      out.weights.push_back(Random(s.oc * s.Taps()));
      ConvEpilogue<float> end{.low = -0.75F, .high = 1.5F};
      const auto some = [&](int64_t count) -> const float* {
        if (RandomInt(0, 1) == 0) return nullptr;
        out.ends.push_back(Random(count));
        return out.ends.back()->data();
      };
      end.scale = some(s.oc), end.bias = some(s.oc), end.residual = some(made);
      out.members.push_back({out.images.back()->data(), out.weights.back()->data(), nullptr, end});
      out.images.push_back(std::make_unique<Buffer<float>>(made));
      out.members.back().result = out.images.back()->data();
    }
    out.convs = std::move(convs);
    return out;
  }

  // One after the other.
  void RunAlone(const Case& c) {
    for (size_t i = 0; i < c.convs.size(); ++i) {
      const auto conv = Make(c.convs[i], false, 1);
      Buffer<float> scratch(static_cast<int64_t>(conv->scratch_bytes() / sizeof(float)));
      conv->Run(c.members[i], scratch.data());
    }
  }

  void Check(std::vector<ConvShape> convs, int slices, int64_t bytes) {
    ASSERT_NE(ChainWindow(convs), -1);
    Case c = MakeCase(std::move(convs));
    RunAlone(c);
    const ConvChain chain(
        c.convs, [](size_t, const ConvShape& s) { return Make(s, false, 1); }, slices, bytes);
    Buffer<float>& expected = *c.images.back();
    for (const Lease* const threads : std::initializer_list<const Lease*>{&one_, &three_}) {
      Buffer<float> got(expected.size()),
          scratch(static_cast<int64_t>(chain.scratch_bytes() / sizeof(float)));
      c.members.back().result = got.data();
      chain.Run(*threads, c.members, scratch.data());
      // Each sum has its terms in the same order.
      for (int64_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], expected[i]) << "at " << i;
    }
  }
};

TEST_P(ConvChainTest, IsWhatItsConvolutionsAre) {
  for (int round = 0; round < 120 && !HasFatalFailure(); ++round) {
    const auto before = static_cast<int>(RandomInt(0, 2)),
               behind = static_cast<int>(RandomInt(0, 2));
    const std::vector<ConvShape> convs = RandomChain(before, behind);
    SCOPED_TRACE(testing::Message() << before << " " << convs[static_cast<size_t>(before)]);
    if (ChainWindow(convs) == -1) continue;
    // From one row at a time to all images.
    Check(convs, static_cast<int>(RandomInt(1, 4)), int64_t{1} << RandomInt(6, 18));
  }
}

TEST_P(ConvChainTest, KeepsNaNToTheWindowsThatReadIt) {
  std::vector<ConvShape> convs = {Pointwise(1, 3, 9, 5, 8), Pointwise(1, 8, 9, 5, 8),
                                  Pointwise(1, 8, 9, 5, 2)};
  ConvShape& window = convs[1];
  window.groups = 8, window.kh = window.kw = 3;
  window.pad_top = window.pad_left = window.pad_bottom = window.pad_right = 1;
  Case c = MakeCase(convs);
  for (auto& member : c.members) member.epilogue = {.low = 0, .high = 1};
  constexpr int64_t kRow = 4;
  std::fill_n(c.images[0]->data() + kRow * 5 * 3, 5 * 3, NAN);
  const ConvChain chain(
      convs, [](size_t, const ConvShape& s) { return Make(s, false, 1); }, 2, 1);
  Buffer<float> scratch(static_cast<int64_t>(chain.scratch_bytes() / sizeof(float)));
  chain.Run(one_, c.members, scratch.data());
  for (int64_t i = 0; i < c.images.back()->size(); ++i) {
    const int64_t row = i / 10;
    EXPECT_EQ(std::isnan((*c.images.back())[i]), row >= kRow - 1 && row <= kRow + 1) << i;
  }
}

TEST_P(ConvChainTest, TakesOnlyWhatFitsTogether) {
  const ConvShape wide = Pointwise(2, 4, 8, 8, 12), narrow = Pointwise(2, 12, 8, 8, 4);
  ConvShape window = Pointwise(2, 12, 8, 8, 12);
  window.groups = 12, window.kh = 3, window.pad_top = window.pad_bottom = 1;
  EXPECT_EQ(ChainWindow(std::vector{wide, window, narrow}), 1);
  EXPECT_EQ(ChainWindow(std::vector{window, narrow}), 0);
  EXPECT_EQ(ChainWindow(std::vector{wide, narrow}), -1) << "no window";
  EXPECT_EQ(ChainWindow(std::vector{window, window}), -1) << "two of them";
  EXPECT_EQ(ChainWindow(std::vector{narrow, window}), -1) << "other channels";
  ConvShape grouped = window;
  grouped.groups = 6;
  EXPECT_EQ(ChainWindow(std::vector{wide, grouped, narrow}), -1) << "not depthwise";
  ConvShape strided = narrow;
  strided.sh = 2, strided.oh = 4;
  EXPECT_EQ(ChainWindow(std::vector{window, strided}), -1) << "leaves out rows";
  window.pad_top = window.pad_bottom = 3;
  window.DeriveOutput();
  EXPECT_EQ(ChainWindow(std::vector{wide, window}), -1) << "rows of padding alone";
}

TEST_P(ConvChainTest, ComputesNothingTwiceWithinATask) {
  std::vector<ConvShape> convs = {Pointwise(3, 4, 40, 8, 12), Pointwise(3, 12, 40, 8, 12)};
  convs[1].groups = 12, convs[1].kh = 3, convs[1].pad_top = convs[1].pad_bottom = 1;
  for (const int64_t bytes : {1, 4096, 1 << 20}) {
    EXPECT_EQ(ChainBands(convs, 1, 1, bytes).fresh_rows(), 3 * 40) << bytes;
    EXPECT_EQ(ChainBands(convs, 1, 2, bytes).fresh_rows(), 3 * 40 + 2) << bytes;
  }
}

HR_KERNEL_TESTS(ConvChainTest);

}  // namespace
}  // namespace hr::cpu
