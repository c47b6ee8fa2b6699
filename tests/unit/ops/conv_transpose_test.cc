#include <gtest/gtest.h>

#include "tests/unit/ops/one_node.h"

namespace hr::ops {
namespace {

using IntList = std::vector<int64_t>;

OneNode Transposed(std::string_view x, std::string_view w) {
  OneNode node("ConvTranspose");
  node.In(x).In(w);
  return node;
}

TEST(ConvTranspose, TypesOfImages) {
  EXPECT_EQ(Transposed("float32[n, 4, 5, 6]", "float32[4, 3, 3, 2]").Text(), "float32[n, 3, 7, 7]");
  EXPECT_EQ(Transposed("float32[n, 4, h, w]", "float32[4, 3, 3, 2]").Text(), "float32[n, 3, ?, ?]");
  EXPECT_EQ(Transposed("float64[2, 4, 5]", "float64[4, 3, 3]")
                .With("strides", IntList{2})
                .With("dilations", IntList{3})
                .With("pads", IntList{1, 2})
                .With("output_padding", IntList{1})
                .With("group", int64_t{2})
                .Text(),
            "float64[2, 6, 13]");  // 4 · 2 + 7 - 3 + 1
  EXPECT_EQ(Transposed("float32", "float32[4, 3, 3]").Text(), "float32 of unknown rank");
  EXPECT_EQ(Transposed("float32[1, 1, 2, 3, 4]", "float32[1, 1, 2, 2, 2]").Text(),
            "float32[1, 1, 3, 4, 5]");
}

TEST(ConvTranspose, PadsThatFollowFromSizes) {
  auto padded = [](std::string mode) {
    return Transposed("float32[1, 1, 5, 4]", "float32[1, 1, 3, 3]")
        .With("strides", IntList{2, 3})
        .With("auto_pad", std::move(mode))
        .Text();
  };
  EXPECT_EQ(padded("SAME_UPPER"), "float32[1, 1, 10, 12]");
  EXPECT_EQ(padded("SAME_LOWER"), "float32[1, 1, 10, 12]");
  EXPECT_EQ(padded("VALID"), "float32[1, 1, 11, 12]");
  auto shaped = [](std::string_view x) {
    return Transposed(x, "float32[1, 1, 3, 3]")
        .With("strides", IntList{3, 2})
        .With("output_shape", IntList{10, 8})
        .Text();
  };
  EXPECT_EQ(shaped("float32[1, 1, 3, 3]"), "float32[1, 1, 10, 8]");
  EXPECT_EQ(shaped("float32[n, 1, h, w]"), "float32[n, 1, 10, 8]");
}

TEST(ConvTranspose, BadInputs) {
  const std::string x = "float32[2, 4, 5, 6]", w = "float32[4, 3, 3, 2]";
  EXPECT_EQ(Transposed("float32[2, 4]", "float32[4, 3]").Text(),
            "ConvTranspose takes rank 3 or more as input 0, got float32[2, 4]");
  EXPECT_EQ(Transposed(x, "float32[4, 3, 3]").Text(),
            "ConvTranspose takes rank 4 as input 1, got float32[4, 3, 3]");
  EXPECT_EQ(Transposed(x, "float32[5, 3, 3, 2]").Text(),
            "ConvTranspose: the channels of image and weights differ: 4 and 5");
  EXPECT_EQ(Transposed(x, w).With("group", int64_t{3}).Text(),
            "ConvTranspose's 4 channels do not divide into 3 groups");
  EXPECT_EQ(Transposed(x, w).With("group", int64_t{0}).Text(),
            "ConvTranspose's 'group' is 1 or more, got 0");
  EXPECT_EQ(Transposed(x, w).In("float32[4]").Text(),
            "ConvTranspose: output channels and bias differ: 3 and 4");
  EXPECT_EQ(Transposed(x, w).With("strides", IntList{2}).Text(),
            "ConvTranspose: 'strides' has 2 entries for 2 spatial axes, got 1");
  EXPECT_EQ(Transposed(x, w).With("strides", IntList{0, 1}).Text(),
            "ConvTranspose: 'strides' is 1 or more, got 0");
  EXPECT_EQ(Transposed(x, w).With("pads", IntList{0, 0, 0, -1}).Text(),
            "ConvTranspose: 'pads' is 0 or more, got -1");
  EXPECT_EQ(Transposed(x, w).With("kernel_shape", IntList{3, 3}).Text(),
            "ConvTranspose: 'kernel_shape' [3, 3] does not fit the weights");
  EXPECT_EQ(Transposed(x, w).With("pads", IntList{4, 0, 4, 0}).Text(),
            "ConvTranspose has pads that leave nothing of input 0 (float32[2, 4, 5, 6])");
  EXPECT_EQ(Transposed(x, w).With("auto_pad", std::string("SAME")).Text(),
            "ConvTranspose: 'auto_pad' is NOTSET, SAME_UPPER, SAME_LOWER or VALID, got 'SAME'");
  const std::string huge = Cat("float32[1, 1, ", int64_t{1} << 40, "]");
  EXPECT_EQ(Transposed(huge, "float32[1, 1, 3]").With("strides", IntList{1 << 30}).Text(),
            Cat("ConvTranspose: the product of the dimensions [", int64_t{1} << 40, ", ", 1 << 30,
                "] does not fit into 64 bits; give smaller sizes"));
}

TEST(ConvTranspose, SaysWhatItHasToKnow) {
  EXPECT_EQ(Transposed("float32[2, 4, h]", "float32[4, 3, ?]").Composition(),
            "FAILED_PRECONDITION: needs to know the kernel's size (node 'ConvTranspose')");
  EXPECT_EQ(Transposed("float32[2, 4, h]", "float32[4, 3, 3]")
                .With("output_shape", IntList{9})
                .Composition(),
            "FAILED_PRECONDITION: needs to know the image's sizes, because it has an "
            "'output_shape' (node 'ConvTranspose')");
}

}  // namespace
}  // namespace hr::ops
