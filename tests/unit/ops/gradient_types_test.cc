// Operators of headrace.grad rely on the shapes of their forward operator. A file may have others.
#include <gtest/gtest.h>

#include "tests/unit/ops/one_node.h"

namespace hr::ops {
namespace {

OneNode Grad(std::string op) { return OneNode(std::move(op), "headrace.grad"); }

TEST(GradientTypes, Convolution) {
  EXPECT_EQ(Grad("ConvGradInput")
                .In("float32[n, 4, 6, 6]")
                .In("float32[4, 3, 3, 3]")
                .In("float32[n, 3, 8, 8]")
                .Text(),
            "float32[n, 3, 8, 8]");
  EXPECT_EQ(Grad("ConvGradInput")
                .In("float32[2, 4, 6, 7]")
                .In("float32[4, 3, 3, 3]")
                .In("float32[2, 3, 8, 8]")
                .Text(),
            "ConvGradInput takes float32[2, 4, 6, 6] as input 0, got float32[2, 4, 6, 7]");
  EXPECT_EQ(Grad("ConvGradInput")
                .In("float32[2, 4, 6, 6]")
                .In("int64[4, 3, 3, 3]")
                .In("float32[2, 3, 8, 8]")
                .Text(),
            "ConvGradInput: Conv takes inputs 0 and 1 of one type, got float32[2, 3, 8, 8] and "
            "int64[4, 3, 3, 3]; insert a Cast");
  EXPECT_EQ(Grad("ConvGradWeight")
                .In("float32[2, 4, 6, 6]")
                .In("float32[2, 3, 8, 8]")
                .In("float32[4, 3, 3, 3]")
                .Text(),
            "float32[4, 3, 3, 3]");
  EXPECT_EQ(Grad("ConvGradWeight")
                .In("float32[]")
                .In("float32[2, 3, 8, 8]")
                .In("float32[4, 3, 3, 3]")
                .Text(),
            "ConvGradWeight takes float32[2, 4, 6, 6] as input 0, got float32[]");
}

TEST(GradientTypes, Pools) {
  const auto pool = [](std::string op, std::string_view dy) {
    OneNode node = Grad(op);
    node.In(dy).In("float32[1, 2, 4, 4]");
    if (op != "AveragePoolGrad") node.In("float32[1, 2, 3, 3]");
    return node.With("kernel_shape", std::vector<int64_t>{2, 2}).Text();
  };
  for (const char* op : {"MaxPoolGrad", "AveragePoolGrad", "LpPoolGrad"}) {
    EXPECT_EQ(pool(op, "float32[1, 2, 3, 3]"), "float32[1, 2, 4, 4]") << op;
    EXPECT_EQ(pool(op, "float32[1, 2, 3, 4]"),
              std::string(op) + " takes float32[1, 2, 3, 3] as input 0, got float32[1, 2, 3, 4]");
  }
  EXPECT_EQ(Grad("MaxPoolGrad")
                .In("float32[1, 2, 3, 3]")
                .In("float32[1, 2, 4, 4]")
                .In("float32[1, 2, 1, 1]")
                .With("kernel_shape", std::vector<int64_t>{2, 2})
                .Text(),
            "MaxPoolGrad takes float32[1, 2, 3, 3] as input 2, got float32[1, 2, 1, 1]");
}

TEST(GradientTypes, Regions) {
  EXPECT_EQ(Grad("RoiAlignGrad")
                .In("float32[3, 2, 1, 1]")
                .In("float32[1, 2, 8, 8]")
                .In("float32[3, 4]")
                .In("int64[3]")
                .Text(),
            "float32[1, 2, 8, 8]");
  EXPECT_EQ(Grad("RoiAlignGrad")
                .In("float32[4]")
                .In("float32[1, 2, 8, 8]")
                .In("float32[3, 4]")
                .In("int64[3]")
                .Text(),
            "RoiAlignGrad takes float32[3, 2, 1, 1] as input 0, got float32[4]");
  EXPECT_EQ(Grad("RoiAlignGrad")
                .In("float32[3, 2, 1, 1]")
                .In("float32[]")
                .In("float32[3, 4]")
                .In("int64[3]")
                .Text()
                .substr(0, 21),
            "RoiAlignGrad: RoiAlig");
  EXPECT_EQ(Grad("MaxRoiPoolGrad")
                .In("float32[3, 2, 2, 1]")
                .In("float32[1, 2, 8, 8]")
                .In("float32[3, 5]")
                .With("pooled_shape", std::vector<int64_t>{2, 2})
                .Text(),
            "MaxRoiPoolGrad takes float32[3, 2, 2, 2] as input 0, got float32[3, 2, 2, 1]");
}

TEST(GradientTypes, Movement) {
  EXPECT_EQ(Grad("GatherGrad").In("float32[2, 3]").In("int64[2]").In("float32[5, 3]").Text(),
            "float32[5, 3]");
  EXPECT_EQ(Grad("GatherGrad").In("float32[1]").In("int64[2]").In("float32[5, 3]").Text(),
            "GatherGrad takes float32[2, 3] as input 0, got float32[1]");
  EXPECT_EQ(Grad("TileGrad").In("float32[4, 9]").In("float32[2, 3]").Text(), "float32[2, 3]");
  EXPECT_EQ(Grad("TileGrad").In("float32[4, 8]").In("float32[2, 3]").Text(),
            "TileGrad's input 0 (float32[4, 8]) is not made of whole copies of input 1 (float32[2, "
            "3])");
  EXPECT_EQ(Grad("TileGrad").In("float32[]").In("float32[2]").Text(),
            "TileGrad takes rank 1 as input 0, got float32[]");
  EXPECT_EQ(Grad("PadGrad").In("float32[5]").In("float32[3]").Ints({1, 1}).Text(), "float32[3]");
  EXPECT_EQ(Grad("PadGrad").In("float32[6]").In("float32[3]").Ints({1, 1}).Text(),
            "PadGrad takes float32[5] as input 0, got float32[6]");
  EXPECT_EQ(Grad("PadGrad")
                .In("float32[5]")
                .In("float32[3]")
                .Ints({1, 1})
                .With("mode", std::string("wrap"))
                .Text(),
            "float32[3]");
  EXPECT_EQ(Grad("SliceGrad").In("float32[2]").In("float32[9]").Ints({1}).Ints({3}).Text(),
            "float32[9]");
  EXPECT_EQ(Grad("SliceGrad").In("float32[3]").In("float32[9]").Ints({1}).Ints({3}).Text(),
            "SliceGrad takes float32[2] as input 0, got float32[3]");
}

TEST(GradientTypes, Fourier) {
  const auto transform = [](std::string_view x, int64_t axis) {
    return Grad("FourierTransform").In(x).With("axis", axis).With("inverse", int64_t{0}).Text();
  };
  EXPECT_EQ(transform("float32[4, 2]", 0), "float32[4, 2]");
  EXPECT_EQ(transform("float32[4, 2]", 1),
            "FourierTransform: axis 1 lies outside [-1, 1) for rank 1");
  EXPECT_EQ(transform("float32[4, 3]", 0),
            "FourierTransform: the last dimension and 2 differ: 3 and 2");
}

// What cannot be composed is refused when the node is added, not when the model is opened.
TEST(ComposedTypes, HaveTheirAxes) {
  EXPECT_EQ(OneNode("Hardmax").In("float32[]").Text().substr(0, 16), "Hardmax: axis -1");
  EXPECT_EQ(OneNode("LpNormalization").In("float32[]").Text().substr(0, 24),
            "LpNormalization: axis -1");
  EXPECT_EQ(OneNode("RMSNormalization").In("float32[]").In("float32[]").Text().substr(0, 25),
            "RMSNormalization: axis -1");
  EXPECT_EQ(OneNode("MeanVarianceNormalization").In("float32[2, 3]").Text().substr(0, 33),
            "MeanVarianceNormalization: axis 2");
}

}  // namespace
}  // namespace hr::ops
