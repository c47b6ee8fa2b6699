#include <gtest/gtest.h>

#include "tests/unit/ops/one_node.h"

namespace hr::ops {
namespace {

using Ints = std::vector<int64_t>;

TEST(Conv, KeepsTheBatchSymbol) {
  EXPECT_EQ(OneNode("Conv")
                .In("float32[batch, 1, 28, 28]")
                .In("float32[20, 1, 5, 5]")
                .In("float32[20]")
                .Text(),
            "float32[batch, 20, 24, 24]");
}

TEST(Conv, OneAndThreeDimensions) {
  EXPECT_EQ(OneNode("Conv")
                .In("float64[2, 4, 10]")
                .In("float64[6, 2, 3]")
                .With("group", int64_t{2})
                .With("strides", Ints{2})
                .With("pads", Ints{1, 0})
                .Text(),
            "float64[2, 6, 5]");
  EXPECT_EQ(OneNode("Conv")
                .In("float32[1, 1, 7, 8, 9]")
                .In("float32[2, 1, 3, 3, 3]")
                .With("dilations", Ints{2, 1, 3})
                .Text(),
            "float32[1, 2, 3, 6, 3]");
}

TEST(Conv, AutoPad) {
  auto conv = [](std::string mode) {
    return OneNode("Conv")
        .In("float32[1, 1, 7, ?]")
        .In("float32[1, 1, 4, 3]")
        .With("strides", Ints{2, 2})
        .With("auto_pad", mode)
        .Text();
  };
  EXPECT_EQ(conv("SAME_UPPER"), "float32[1, 1, 4, ?]");
  EXPECT_EQ(conv("SAME_LOWER"), "float32[1, 1, 4, ?]");
  EXPECT_EQ(conv("VALID"), "float32[1, 1, 2, ?]");
  EXPECT_EQ(conv("SAME"), "Conv: auto_pad is NOTSET, VALID, SAME_UPPER or SAME_LOWER, got 'SAME'");
}

TEST(Conv, UnknownWeightsLeaveTheImageUnknown) {
  EXPECT_EQ(OneNode("Conv").In("float32[1, 3, 8, 8]").In("float32[m, 3, k, 3]").Text(),
            "float32[1, m, ?, ?]");
  EXPECT_EQ(OneNode("Conv").In("float32").In("float32[1, 3, 8, 8]").Text(),
            "float32 of unknown rank");
}

TEST(Conv, BadInputs) {
  EXPECT_EQ(OneNode("Conv").In("float32[1, 3, 8, 8]").In("float32[4, 2, 3, 3]").Text(),
            "Conv's weights want 2 channels per group, got float32[1, 3, 8, 8] in 1 groups with "
            "weights float32[4, 2, 3, 3]");
  EXPECT_EQ(OneNode("Conv").In("float32[1, 1, 2, 8]").In("float32[4, 1, 3, 3]").Text(),
            "Conv: a window of 3 does not fit into 2 elements padded with 0 and 0");
  EXPECT_EQ(OneNode("Conv").In("float32[1, 1, 8, 8]").In("float64[4, 1, 3, 3]").Text(),
            "Conv takes inputs 0 and 1 of one type, got float32[1, 1, 8, 8] and float64[4, 1, 3, "
            "3]; insert a Cast");
  EXPECT_EQ(
      OneNode("Conv").In("float32[1, 1, 8, 8]").In("float32[4, 1, 3, 3]").In("float32[3]").Text(),
      "Conv: output channels and bias differ: 4 and 3");
  EXPECT_EQ(OneNode("Conv")
                .In("float32[1, 1, 8, 8]")
                .In("float32[4, 1, 3, 3]")
                .With("strides", Ints{1})
                .Text(),
            "Conv: attribute 'strides' wants 2 values, got [1]");
}

TEST(MaxPool, OptionalIndices) {
  OneNode node("MaxPool");
  node.In("float32[n, 2, 7, 7]").With("kernel_shape", Ints{2, 2}).With("strides", Ints{2, 2});
  EXPECT_EQ(node.Outputs(2).Text(), "float32[n, 2, 3, 3]; int64[n, 2, 3, 3]");
}

TEST(MaxPool, CeilModeLeavesOutWindowsThatBeginInThePadding) {
  auto pool = [](std::string x, Ints pads) {
    return OneNode("MaxPool")
        .In(x)
        .With("kernel_shape", Ints{3})
        .With("strides", Ints{2})
        .With("pads", pads)
        .With("ceil_mode", int64_t{1})
        .Text();
  };
  EXPECT_EQ(pool("float32[1, 1, 6]", {0, 0}), "float32[1, 1, 3]");
  EXPECT_EQ(pool("float32[1, 1, 3]", {1, 2}), "float32[1, 1, 2]");
}

TEST(AveragePool, DilationsSinceVersion19) {
  auto pool = [](int version) {
    return OneNode("AveragePool", "", version)
        .In("float32[1, 1, 9]")
        .With("kernel_shape", Ints{3})
        .With("dilations", Ints{2})
        .Text();
  };
  EXPECT_EQ(pool(19), "float32[1, 1, 5]");
  EXPECT_EQ(pool(13),
            "AveragePool has no attribute 'dilations'; it has auto_pad, ceil_mode, "
            "count_include_pad, kernel_shape, pads, strides");
}

TEST(BatchNormalization, WantsChannels) {
  auto normalize = [](std::string op, std::string domain, std::string_view x) {
    return OneNode(op, domain)
        .In(x)
        .In(x)
        .In("float32[2]")
        .In("float32[2]")
        .In("float32[2]")
        .Outputs(domain.empty() ? 1 : 3)
        .Text();
  };
  EXPECT_EQ(normalize("BatchNormalizationGrad", "headrace.grad", "float32[n, 2]"),
            "float32[n, 2]; float32[2]; float32[2]");
  EXPECT_EQ(normalize("BatchNormalizationGrad", "headrace.grad", "float32[3]"),
            "BatchNormalizationGrad takes rank 2 or more as input 1, got float32[3]");
}

TEST(GroupNormalization, WantsGroupsOfChannels) {
  auto normalize = [](std::string_view x, std::string_view scale, int64_t groups,
                      int64_t stash = 1) {
    return OneNode("GroupNormalization")
        .In(x)
        .In(scale)
        .In(scale)
        .With("num_groups", groups)
        .With("stash_type", stash)
        .Text();
  };
  EXPECT_EQ(normalize("float32[n, 6, h, w]", "float32[6]", 3), "float32[n, 6, h, w]");
  EXPECT_EQ(normalize("float64[n, c]", "float64[?]", 4), "float64[n, c]");
  EXPECT_EQ(normalize("bfloat16", "bfloat16", 4), "bfloat16 of unknown rank");
  EXPECT_EQ(normalize("float32[6]", "float32[6]", 3),
            "GroupNormalization takes rank 2 or more as input 0, got float32[6]");
  // One element a group is what operator set 18 had.
  EXPECT_EQ(normalize("float32[n, 6, 5]", "float32[3]", 3),
            "GroupNormalization: channels and input 1 (float32[3]) differ: 6 and 3");
  EXPECT_EQ(normalize("float32[n, 6]", "float64[6]", 3),
            "GroupNormalization takes inputs 0 and 1 of one type, got float32[n, 6] and "
            "float64[6]; insert a Cast");
  EXPECT_EQ(normalize("float32[n, 6, 5]", "float32[6]", 4),
            "GroupNormalization wants channels that are a multiple of num_groups 4, got 6 in input "
            "0 (float32[n, 6, 5])");
  EXPECT_EQ(normalize("float32[n, 6]", "float32[6]", 0),
            "GroupNormalization's 'num_groups' is 1 or more, got 0");
  EXPECT_EQ(normalize("float32[n, 6]", "float32[6]", 3, 10),
            "GroupNormalization's 'stash_type' is 1 or 16, got 10");
}

// Version 18 has a scale and a bias for each group, later ones for each channel.
TEST(GroupNormalization, ScalesGroupsUntilVersion21) {
  auto versioned = [](int version, std::string_view scale) {
    return OneNode("GroupNormalization", "", version)
        .In("float32[n, 4]")
        .In(scale)
        .In(scale)
        .With("num_groups", int64_t{2})
        .Text();
  };
  EXPECT_EQ(versioned(22, "float32[4]"), "float32[n, 4]");
  EXPECT_EQ(versioned(21, "float32[2]"), versioned(22, "float32[2]"));
  EXPECT_NE(versioned(22, "float32[2]"), "float32[n, 4]");
  EXPECT_EQ(versioned(18, "float32[2]"), "float32[n, 4]");
  EXPECT_EQ(versioned(20, "float32[4]"),
            "GroupNormalization: groups and input 1 (float32[4]) differ: 2 and 4");
  EXPECT_EQ(versioned(17, "float32[2]"),
            "operator GroupNormalization is known, but not in version 17; the oldest known is not "
            "older than 18");
}

TEST(GlobalPool, LeavesOneElementAChannel) {
  EXPECT_EQ(OneNode("GlobalAveragePool").In("float32[n, 8, h, w]").Text(), "float32[n, 8, 1, 1]");
  EXPECT_EQ(OneNode("GlobalMaxPool").In("float32[2]").Text(),
            "GlobalMaxPool takes rank 3 or more as input 0, got float32[2]");
}

TEST(Upsample, BadInputs) {
  const auto upsample = [](std::string_view x, std::string_view scales) {
    return OneNode("Upsample", "", 9).In(x).In(scales).Text();
  };
  EXPECT_EQ(upsample("float32[n, 3, h, w]", "float32[4]"), "float32[?, ?, ?, ?]");
  EXPECT_EQ(upsample("float32[n, 3, h, w]", "float32[3]"),
            "Upsample: the rank of input 0 and the number of its scales differ: 4 and 3");
  EXPECT_EQ(upsample("float32[n, 3]", "float32[2, 1]"),
            "Upsample takes rank 1 as input 1, got float32[2, 1]");
  EXPECT_EQ(upsample("float32[n, 3]", "int64[2]"),
            "Upsample takes float32 as input 1, got int64[2]");
}

}  // namespace
}  // namespace hr::ops
