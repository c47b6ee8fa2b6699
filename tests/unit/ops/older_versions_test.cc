#include <gtest/gtest.h>

#include "tests/unit/ops/one_node.h"

namespace hr::ops {
namespace {

using IntList = std::vector<int64_t>;

OneNode At(const char* op, int version, std::string_view x) {
  OneNode node(op, "", version);
  node.In(x);
  return node;
}

TEST(OlderVersions, AttributesInTheirPlace) {
  EXPECT_EQ(At("Squeeze", 11, "float32[n, 1, 3, 1]").With("axes", IntList{1, -1}).Text(),
            "float32[n, 3]");
  EXPECT_EQ(At("Squeeze", 1, "float32[2, 1, 3]").Text(), "float32[2, 3]");
  EXPECT_EQ(At("Unsqueeze", 11, "float32[n, 3]").With("axes", IntList{0, 3}).Text(),
            "float32[1, n, 3, 1]");
  EXPECT_EQ(At("Split", 2, "float32[6, n]").Outputs(3).Text(),
            "float32[2, n]; float32[2, n]; float32[2, n]");
  EXPECT_EQ(At("Split", 11, "float32[6, n]").Outputs(2).With("split", IntList{1, 5}).Text(),
            "float32[1, n]; float32[5, n]");
  EXPECT_EQ(At("Slice", 1, "float32[n, 8]")
                .With("starts", IntList{2})
                .With("ends", IntList{-1})
                .With("axes", IntList{1})
                .Text(),
            "float32[n, 5]");
  EXPECT_EQ(At("Clip", 6, "float16[n]").With("min", 0.0).Text(), "float16[n]");
  EXPECT_EQ(At("Pad", 2, "float32[n, 3]").With("pads", IntList{0, 1, 0, 2}).Text(),
            "float32[n, 6]");
  EXPECT_EQ(At("TopK", 1, "float32[n, 8]").Outputs(2).With("k", int64_t{3}).Text(),
            "float32[n, 3]; int64[n, 3]");
  EXPECT_EQ(At("Dropout", 7, "float32[n, 8]").Outputs(2).With("ratio", 0.5).Text(),
            "float32[n, 8]; bool[n, 8]");
  EXPECT_EQ(At("Scatter", 9, "float32[3, 3]").In("int64[1, 2]").In("float32[1, 2]").Text(),
            "float32[3, 3]");
  EXPECT_EQ(At("Softmax", 1, "float32[n, 3, 4]").Text(), "float32[n, 3, 4]");
}

// What was an input later is none yet, and what is an input now was needed as an attribute.
TEST(OlderVersions, KnowTheirOwnForm) {
  EXPECT_EQ(At("Squeeze", 11, "float32[2, 1]").Ints({1}).Text(), "Squeeze takes 1 inputs, got 2");
  EXPECT_EQ(At("Unsqueeze", 11, "float32[2, 1]").Text(), "Unsqueeze needs its attribute 'axes'");
  EXPECT_EQ(At("Slice", 9, "float32[2, 1]").With("starts", IntList{0}).Text(),
            "Slice needs its attribute 'ends'");
  EXPECT_EQ(At("TopK", 9, "float32[2, 1]").Outputs(2).Text(), "TopK needs its attribute 'k'");
}

// Mistakes are told by the rule of today's definition.
TEST(OlderVersions, BadInputs) {
  EXPECT_EQ(At("Squeeze", 11, "float32[2, 3]").With("axes", IntList{1}).Text(),
            OneNode("Squeeze").In("float32[2, 3]").Ints({1}).Text());
  EXPECT_EQ(At("Split", 2, "float32[6]").Outputs(2).With("split", IntList{1, 4}).Text(),
            OneNode("Split").In("float32[6]").Ints({1, 4}).Outputs(2).Text());
  EXPECT_EQ(At("TopK", 1, "float32[2]").Outputs(2).With("k", int64_t{3}).Text(),
            OneNode("TopK").In("float32[2]").Ints({3}).Outputs(2).Text());
  EXPECT_EQ(At("Pad", 2, "float32[2]").With("pads", IntList{1}).Text(),
            OneNode("Pad").In("float32[2]").Ints({1}).Text());
  EXPECT_EQ(At("Unsqueeze", 1, "float32[2]").With("axes", IntList{3}).Text(),
            OneNode("Unsqueeze").In("float32[2]").Ints({3}).Text());
}

TEST(OlderVersions, AreComposedOfTheNewest) {
  EXPECT_EQ(At("Squeeze", 11, "float32[n, 1]").With("axes", IntList{1}).Composition(), "Squeeze");
  EXPECT_EQ(At("Clip", 6, "float32[n]").With("max", 1.0).Composition(), "Clip");
  EXPECT_EQ(At("Scatter", 9, "float32[3]").In("int64[2]").In("float32[2]").Composition(),
            "ScatterElements");
  EXPECT_EQ(At("Softmax", 1, "float32[n, 3]").Composition(), "Softmax");
  EXPECT_EQ(At("Softmax", 1, "float32[2, 3, 4]").Composition(), "Flatten Softmax Concat Reshape");
  EXPECT_EQ(At("Softmax", 1, "float32").Composition(),
            "FAILED_PRECONDITION: needs to know the rank of x0 (node 'Softmax')");
}

}  // namespace
}  // namespace hr::ops
