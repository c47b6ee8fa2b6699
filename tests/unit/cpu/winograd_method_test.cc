#include "backends/cpu/kernels/winograd_method.h"

#include <gtest/gtest.h>

#include "backends/cpu/kernels/winograd.h"
#include "tests/unit/cpu/random_shapes.h"

namespace hr::cpu {
namespace {

constexpr auto kLarge = WinogradTiling::kLarge, kSmall = WinogradTiling::kSmall;

// 3 x 3, padded, of square images.
ConvShape Shape(int64_t n, int64_t channels, int64_t size) {
  ConvShape s;
  s.n = n, s.ic = s.oc = channels, s.ih = s.iw = size, s.kh = s.kw = 3;
  s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = 1;
  s.DeriveOutput();
  return s;
}

// Measured for each of these, in one pass: 9 to 33 times PyTorch's error.
TEST(WinogradMethod, LargeTilesWantWholeSumsOfManyPixels) {
  const auto shape = [](int64_t n, int64_t ic, int64_t oc, int64_t h, int64_t w, int64_t kernel,
                        int64_t pad) {
    ConvShape s;
    s.n = n, s.ic = ic, s.oc = oc, s.ih = h, s.iw = w, s.kh = s.kw = kernel;
    s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = pad;
    s.DeriveOutput();
    return s;
  };
  for (const ConvShape& s : {shape(33, 128, 128, 1, 1, 7, 6), shape(3, 16, 96, 3, 2, 7, 3),
                             shape(33, 128, 64, 3, 3, 5, 2), shape(16, 256, 16, 4, 4, 5, 2)}) {
    EXPECT_FALSE(WinogradFillsTaps(s)) << s;
    EXPECT_FALSE(WinogradChannelsLastPays(s, ImagePass::kForward, true)) << s;
    EXPECT_FALSE(WinogradPays(s)) << s;
  }
  for (const ConvShape& s : {shape(2, 48, 32, 10, 10, 7, 3), shape(2, 16, 16, 13, 13, 7, 0),
                             shape(8, 32, 96, 4, 8, 5, 4)}) {
    EXPECT_FALSE(WinogradChannelsLastWeightsPays(s)) << s;
    EXPECT_FALSE(WinogradPays(s)) << s;
  }
  const ConvShape whole = shape(16, 64, 64, 14, 14, 5, 2);
  EXPECT_TRUE(WinogradChannelsLastPays(whole, ImagePass::kForward, true));
  EXPECT_TRUE(WinogradChannelsLastWeightsPays(whole));
}

TEST(WinogradMethod, TakesWholeVectorsOfChannels) {
  const ConvShape s = Shape(8, 64, 16);
  const auto with = [&](auto&& change) {
    ConvShape other = s;
    change(other);
    other.DeriveOutput();
    return other;
  };
  EXPECT_TRUE(WinogradChannelsLastPays(s, ImagePass::kForward, true));
  EXPECT_TRUE(WinogradChannelsLastWeightsPays(s));
  for (const ConvShape& other :
       {with([](auto& o) { o.ic = 60; }), with([](auto& o) { o.oc = 60; }),
        with([](auto& o) { o.groups = 2; }), with([](auto& o) { o.sw = 2; }),
        with([](auto& o) { o.dh = 2; }), with([](auto& o) { o.pad_left = 3; })}) {
    EXPECT_FALSE(WinogradTakesChannelsLast(other)) << other;
    EXPECT_FALSE(WinogradChannelsLastPays(other, ImagePass::kForward, true)) << other;
    EXPECT_FALSE(WinogradChannelsLastWeightsPays(other)) << other;
  }
}

// Weights of 2 MB are kept, 9 MB as frequencies; of 9 MB, in 4 times as many, none, but in small
// tiles of few images.
TEST(WinogradMethod, KeepsNoLargeWeights) {
  const auto method = [](int64_t n, int64_t channels, int64_t size, bool steady) {
    return WinogradMethodFor(Shape(n, channels, size), ImagePass::kForward, steady);
  };
  EXPECT_TRUE(method(8, 64, 16, true).packed);
  EXPECT_EQ(method(8, 64, 16, true).tiling, kLarge);
  EXPECT_FALSE(method(8, 64, 16, false).packed) << "weights that change";
  EXPECT_FALSE(method(8, 256, 16, true).packed);
  EXPECT_EQ(method(8, 256, 16, true).tiling, kLarge);
  EXPECT_FALSE(method(32, 512, 8, true).packed);
  EXPECT_EQ(method(32, 512, 8, true).tiling, kLarge);
  EXPECT_TRUE(method(1, 512, 8, true).packed);
  EXPECT_EQ(method(1, 512, 8, true).tiling, kSmall);
}

// A direct sum leaves out the padding, which Winograd's algorithm does not.
TEST(WinogradMethod, LeavesSmallImagesToDirectSums) {
  EXPECT_TRUE(WinogradChannelsLastPays(Shape(8, 512, 8), ImagePass::kForward, true));
  EXPECT_FALSE(WinogradChannelsLastPays(Shape(8, 512, 2), ImagePass::kForward, true));
}

TEST(WinogradMethod, SmallTilesSumWeightsOfSmallImages) {
  EXPECT_EQ(WinogradWeightsTiling(Shape(1, 128, 8)), kSmall);
  EXPECT_EQ(WinogradWeightsTiling(Shape(8, 64, 16)), kLarge);
}

}  // namespace
}  // namespace hr::cpu
