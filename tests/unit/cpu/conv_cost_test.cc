#include "backends/cpu/ops/conv_cost.h"

#include <gtest/gtest.h>

#include "backends/cpu/kernel_table.h"
#include "backends/cpu/kernels/batch_blocked.h"
#include "backends/cpu/kernels/split_conv.h"

namespace hr::cpu {
namespace {

ConvShape SquareImage(int64_t n, int64_t ic, int64_t size, int64_t oc, int64_t kernel,
                      int64_t stride = 1) {
  ConvShape s;
  s.n = n, s.ic = ic, s.oc = oc, s.ih = s.iw = size, s.kh = s.kw = kernel, s.sh = s.sw = stride;
  s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = kernel / 2;
  s.DeriveOutput();
  return s;
}

// A wide image between an expanding and a projecting convolution.
std::vector<ConvShape> Bottleneck(int64_t n, int64_t size, int64_t narrow, int64_t wide,
                                  int64_t stride = 1) {
  ConvShape window = SquareImage(n, wide, size, wide, 3, stride);
  window.groups = wide;
  return {SquareImage(n, narrow, size, wide, 1), window,
          SquareImage(n, wide, window.oh, narrow, 1)};
}

TEST(ConvChainPays, WhereTheWideImageIsMoreThanWeightsThatAreReadAgain) {
  for (const int64_t n : {1, 8}) {
    EXPECT_TRUE(ConvChainPays(Bottleneck(n, 112, 16, 96, 2), 2)) << n;
    EXPECT_TRUE(ConvChainPays(Bottleneck(n, 28, 32, 192), 2)) << n;
    EXPECT_FALSE(ConvChainPays(Bottleneck(n, 7, 160, 960), 2)) << n;
  }
  EXPECT_TRUE(ConvChainPays(Bottleneck(8, 14, 96, 576), 2));
}

TEST(ConvChainPays, OnlyIfThereAreBandsForAllThreads) {
  std::vector<ConvShape> line = Bottleneck(1, 4096, 32, 96);
  for (ConvShape& s : line) s.ih = s.oh = 1, s.kh = 1, s.pad_top = s.pad_bottom = 0;
  EXPECT_TRUE(ConvChainPays(line, 1));
  EXPECT_FALSE(ConvChainPays(line, 2));
  line[2].ic = 95;
  EXPECT_FALSE(ConvChainPays(line, 1)) << "do not fit together";
}

bool BatchBlockedPays(const ConvShape& s, const ConvUse& use) {
  return ConvCost(s, use, kBatchBlockedLayout) < ConvCost(s, use, Layout::kPlain);
}

constexpr ConvUse kTraining{.backward_data = true, .backward_weights = true, .onednn = true};

ConvUse Portable(ConvUse use) {
  use.onednn = false;
  return use;
}
ConvUse BetweenPlain(ConvUse use) {
  use.x_is_plain = use.y_is_plain = true;
  return use;
}

// A block costs the same however full it is, so only its emptier part may be plain.
TEST(BatchBlockedPays, FromSomeNumberOfImagesInABlockOn) {
  for (const ConvUse& use : {ConvUse{}, ConvUse{.onednn = true}, kTraining, BetweenPlain(kTraining),
                             Portable(kTraining)}) {
    for (const auto& [channels, size, kernel] :
         {std::array{64, 16, 3}, {128, 8, 3}, {256, 4, 3}, {64, 56, 3}, {20, 28, 5}, {64, 28, 1}}) {
      bool before = false;
      for (int64_t n = 1; n <= kBatchBlock<float>; ++n) {
        const bool blocked =
            BatchBlockedPays(SquareImage(n, channels, size, channels, kernel), use);
        EXPECT_TRUE(blocked || !before) << channels << " of " << size << ", batch " << n;
        before = blocked;
      }
    }
  }
}

TEST(BatchBlockedPays, WhereChannelsAreFew) {
  for (int64_t n = 8; n <= 64; ++n) {
    EXPECT_TRUE(BatchBlockedPays(SquareImage(n, 1, 28, 20, 5), {.backward_weights = true})) << n;
    EXPECT_TRUE(BatchBlockedPays(SquareImage(n, 20, 12, 50, 5), kTraining)) << n;
  }
  EXPECT_FALSE(BatchBlockedPays(SquareImage(1, 20, 12, 50, 5), kTraining));
}

Layout Cheapest(const ConvShape& s, const ConvUse& use) {
  Layout best = Layout::kPlain;
  for (const Layout layout : {kBatchBlockedLayout, kChannelsLastLayout}) {
    if (ConvCost(s, use, layout) < ConvCost(s, use, best)) best = layout;
  }
  return best;
}

TEST(ConvCost, BlocksNeedImagesAndLargePlanes) {
  for (const ConvUse& use : {kTraining, Portable(kTraining)}) {
    EXPECT_EQ(Cheapest(SquareImage(8, 64, 16, 64, 3), use), kChannelsLastLayout);
    EXPECT_EQ(Cheapest(SquareImage(32, 40, 16, 40, 3), use), kBatchBlockedLayout);
    EXPECT_EQ(Cheapest(SquareImage(32, 512, 2, 512, 3), use), kChannelsLastLayout);
    EXPECT_EQ(Cheapest(SquareImage(64, 1, 28, 20, 5), use), kBatchBlockedLayout);
    EXPECT_EQ(Cheapest(SquareImage(64, 20, 12, 50, 5), use), kBatchBlockedLayout);
  }
}

// Winograd's transforms of whole vectors of channels need no full block of images.
TEST(ConvCost, WholeVectorsOfChannelsRunByWinograd) {
  for (const int64_t n : {1, 8, 32}) {
    const ConvShape s = SquareImage(n, 64, 16, 64, 3);
    for (const ConvUse& use : {ConvUse{}, kTraining, Portable(kTraining)}) {
      const ConvEstimate estimate = EstimateConv(s, use, kChannelsLastLayout);
      EXPECT_EQ(estimate.method, "winograd") << n;
      EXPECT_EQ(Cheapest(s, use), kChannelsLastLayout) << n;
      ConvUse exact = use;
      exact.exact_sums = true;
      EXPECT_NE(EstimateConv(s, exact, kChannelsLastLayout).method, "winograd");
      EXPECT_LT(estimate.passes, EstimateConv(s, exact, kChannelsLastLayout).passes);
    }
  }
}

// Half a block of images, of few channels, and pixels that are gathered from plain rows.
TEST(ConvCost, WhatBlocksAndPlainImagesTake) {
  const bool has = SplitKernelsInUse() != nullptr;
  const ConvUse use = BetweenPlain({.onednn = true});
  const ConvShape few = SquareImage(8, 20, 14, 50, 5);
  EXPECT_EQ(Cheapest(few, use), has ? kChannelsLastLayout : kBatchBlockedLayout);
  EXPECT_EQ(Cheapest(SquareImage(8, 64, 16, 128, 1, 2), use), kChannelsLastLayout);
  EXPECT_EQ(Cheapest(SquareImage(8, 64, 16, 256, 1), use), Layout::kPlain);
}

// Sums of float32, exact or not, but not what vectors do as fast.
TEST(ConvCost, MatrixUnit) {
  const bool has = SplitKernelsInUse() != nullptr;
  const ConvShape s = SquareImage(8, 256, 14, 512, 1);
  for (const bool exact : {false, true}) {
    ConvUse use{.exact_sums = exact};
    const ConvEstimate estimate = EstimateConv(s, use, kChannelsLastLayout);
    EXPECT_EQ(estimate.method, has ? "matrix_unit" : "channels_last");
    use.wide = true;
    EXPECT_EQ(EstimateConv(s, use, kChannelsLastLayout).method, "channels_last");
    EXPECT_EQ(RunsOnMatrixUnit(s, onednn::ConvPass::kForward, true, exact), has);
    EXPECT_EQ(RunsOnMatrixUnit(s, onednn::ConvPass::kBackwardData, true, exact), has);
    EXPECT_EQ(RunsOnMatrixUnit(s, onednn::ConvPass::kBackwardWeights, false, exact), has);
  }
  ConvShape depthwise = SquareImage(8, 256, 14, 256, 3);
  depthwise.groups = 256;
  for (const ConvShape& other : {SquareImage(8, 3, 224, 64, 7), SquareImage(1, 512, 2, 512, 3),
                                 SquareImage(8, 16, 14, 16, 1), depthwise}) {
    EXPECT_FALSE(RunsOnMatrixUnit(other, onednn::ConvPass::kForward, true, true)) << other.ic;
    EXPECT_FALSE(RunsOnMatrixUnit(other, onednn::ConvPass::kBackwardWeights, false, true))
        << other.ic;
  }
}

// Vectors take long for gradients of weights of channels that fill none, or a single one, but do
// many sums of few terms, and Winograd's, as fast.
TEST(ConvCost, GradientsOfWeightsOnTheMatrixUnit) {
  const bool has = SplitKernelsInUse() != nullptr;
  const auto runs = [](const ConvShape& s) {
    return RunsOnMatrixUnit(s, onednn::ConvPass::kBackwardWeights, false, false);
  };
  EXPECT_EQ(runs(SquareImage(8, 20, 14, 50, 5)), has);
  EXPECT_EQ(runs(SquareImage(1, 16, 28, 16, 7)), has);
  EXPECT_EQ(runs(SquareImage(8, 512, 7, 512, 3)), has);
  EXPECT_EQ(runs(SquareImage(8, 256, 14, 64, 1)), has);
  EXPECT_FALSE(runs(SquareImage(8, 512, 2, 512, 3)));
  EXPECT_FALSE(runs(SquareImage(8, 64, 16, 64, 3)));
  EXPECT_FALSE(runs(SquareImage(8, 17, 5, 33, 3)));
}

// Plain images are read as they are if nobody around has them in another layout; but channels fill
// vectors of small images that columns do not.
TEST(ConvCost, DepthwiseRunsPlainBetweenPlainImages) {
  for (const int64_t n : {1, 8, 32}) {
    ConvShape s = SquareImage(n, 96, 32, 96, 3);
    s.groups = 96;
    EXPECT_EQ(Cheapest(s, BetweenPlain(kTraining)), Layout::kPlain) << n;
    EXPECT_EQ(EstimateConv(s, kTraining, Layout::kPlain).method, "depthwise");
    EXPECT_EQ(Cheapest(s, kTraining), kChannelsLastLayout) << n;
    s = SquareImage(n, 960, 7, 960, 3);
    s.groups = 960;
    EXPECT_EQ(Cheapest(s, BetweenPlain(kTraining)), kChannelsLastLayout) << n;
  }
}

// Two copies beside direct sums take longer than a library.
TEST(ConvCost, GroupsOfManyPlainImagesRunByOneDnn) {
  ConvShape s = SquareImage(32, 64, 16, 64, 3);
  s.groups = 4;
  EXPECT_EQ(Cheapest(s, BetweenPlain({.onednn = true})), Layout::kPlain);
  EXPECT_EQ(Cheapest(s, BetweenPlain(kTraining)), Layout::kPlain);
  EXPECT_EQ(EstimateConv(s, kTraining, Layout::kPlain).method, "onednn");
}

// Also those of few channels, and depthwise ones that make several channels of one.
TEST(ConvCost, GroupsRunChannelsLast) {
  for (const auto& [in, out, groups] :
       {std::array<int64_t, 3>{64, 64, 4}, {128, 128, 32}, {32, 64, 32}}) {
    for (const int64_t stride : {1, 2}) {
      ConvShape s = SquareImage(8, in, 16, out, 3, stride);
      s.groups = groups;
      EXPECT_EQ(EstimateConv(s, kTraining, kChannelsLastLayout).method, "grouped");
      EXPECT_EQ(Cheapest(s, kTraining), kChannelsLastLayout) << groups << " " << stride;
    }
  }
}

// oneDNN takes a column otherwise, and sums exactly.
TEST(ConvCost, LinesOfManyChannelsRunByWinograd) {
  ConvShape s = SquareImage(1, 256, 512, 512, 5);
  s.iw = s.kw = 1, s.pad_left = s.pad_right = 0;
  s.DeriveOutput();
  ConvUse use = BetweenPlain({.onednn = true});
  EXPECT_EQ(Cheapest(s, use), kChannelsLastLayout);
  use.exact_sums = true;
  EXPECT_EQ(Cheapest(s, use), Layout::kPlain);
}

TEST(BatchBlockedPays, CountsCopiesAndTheMethod) {
  int copies = 0, method = 0;
  const auto count = [&](const ConvShape& s) {
    ConvUse exact = kTraining;
    exact.exact_sums = true;
    const bool best = BatchBlockedPays(s, kTraining);
    copies += best && !BatchBlockedPays(s, BetweenPlain(kTraining));
    method += best && !BatchBlockedPays(s, exact);
    EXPECT_TRUE(best || !BatchBlockedPays(s, BetweenPlain(kTraining)));
  };
  for (int64_t n = 1; n <= 16; ++n) {
    for (const int64_t channels : {20, 64}) count(SquareImage(n, channels, 16, channels, 3));
    count(SquareImage(n, 64, 16, 64, 1));
  }
  EXPECT_GT(copies, 0);
  EXPECT_GT(method, 0);
}

}  // namespace
}  // namespace hr::cpu
