#include <gtest/gtest.h>

#include "tests/unit/ops/one_node.h"

namespace hr::ops {
namespace {

using IntList = std::vector<int64_t>;

std::string Reshape(std::string_view x, IntList shape) {
  return OneNode("Reshape").In(x).Ints(shape).Text();
}

TEST(Reshape, KeepsSymbols) {
  EXPECT_EQ(Reshape("float32[batch, 20, 4, 4]", {0, -1}), "float32[batch, 320]");
  EXPECT_EQ(Reshape("float32[batch, 20, 4, 4]", {-1, 320}), "float32[batch, 320]");
  EXPECT_EQ(Reshape("float32[batch, 20]", {-1, 10}), "float32[?, 10]");
  EXPECT_EQ(Reshape("float32[a, b, 6]", {0, 0, 2, -1}), "float32[a, b, 2, 3]");
  EXPECT_EQ(Reshape("float32", {2, -1}), "float32[2, ?]");
  EXPECT_EQ(OneNode("Reshape").In("float32[2]").In("int64[3]").Text(), "float32[?, ?, ?]");
}

TEST(Reshape, BadShapes) {
  EXPECT_EQ(Reshape("float32[2, 3]", {4, 2}),
            "Reshape cannot turn float32[2, 3] with 6 elements into [4, 2] with 8");
  EXPECT_EQ(
      Reshape("float32[2, 3]", {4, -1}),
      "Reshape cannot turn float32[2, 3] with 6 elements into [4, -1]: 4 does not divide them");
  EXPECT_EQ(Reshape("float32[2, 3]", {-1, -1}), "Reshape takes -1 once, got [-1, -1]");
  EXPECT_EQ(Reshape("float32[2]", {2, 0}),
            "Reshape to [2, 0]: dimension 1 is 0, which copies the input's, but the input is "
            "float32[2]");
  EXPECT_EQ(Reshape("float32[2]", {-2}), "Reshape to [-2]: -2 is not a size");
}

TEST(Flatten, KeepsSymbols) {
  EXPECT_EQ(OneNode("Flatten").In("float32[batch, 50, 4, 4]").Text(), "float32[batch, 800]");
  EXPECT_EQ(OneNode("Flatten").In("float32[batch, 2, 3]").With("axis", int64_t{3}).Text(),
            "float32[?, 1]");
}

// 2^40 x 2^40 is told by the rule that multiplies, whether a 0 follows or not.
TEST(HugeProducts, AreNamed) {
  const int64_t large = int64_t{1} << 40;
  const std::string type = Cat("float32[", large, ", ", large, "]");
  const auto product = [&](const Dims& dims) {
    return Cat("the product of the dimensions ", dims,
               " does not fit into 64 bits; give smaller sizes");
  };
  EXPECT_EQ(Reshape("float32[n]", {large, large, -1}), "Reshape: " + product({large, large}));
  EXPECT_EQ(Reshape("float32[n]", {large, large}), "Reshape: " + product({large, large}));
  EXPECT_EQ(Reshape(type, {-1}), "Reshape: " + product({large, large}));
  EXPECT_EQ(OneNode("Flatten").In(type).With("axis", int64_t{2}).Text(),
            "Flatten: " + product({large, large}));
  EXPECT_EQ(OneNode("Flatten").In(Cat("float32[", large, ", 0, ", large, "]")).Text(),
            Cat("float32[", large, ", 0]"));
  EXPECT_EQ(OneNode("Flatten")
                .In(Cat("float32[", large, ", 0, ", large, "]"))
                .With("axis", int64_t{3})
                .Text(),
            "Flatten: " + product({large, 0, large}));
  EXPECT_EQ(OneNode("ReshapeLike", "headrace.grad").In(type).In("float32[4]").Text(),
            "ReshapeLike: " + product({large, large}));
  EXPECT_EQ(OneNode("Tile").In(Cat("float32[", large, "]")).Ints({large}).Text(),
            "Tile: " + product({large, large}));
  EXPECT_EQ(OneNode("Size").In(type).Text(), "int64[]");
}

TEST(HugeProducts, OfOutputsAreRefused) {
  const int64_t large = int64_t{1} << 40;
  const auto refused = [](std::string_view text) {
    return text.find("a tensor of shape ") != text.npos && text.find("is too large") != text.npos;
  };
  const std::string row = Cat("float32[1, ", large, "]"), column = Cat("float32[", large, ", 1]");
  for (std::string_view op : {"Add", "MatMul", "Gemm"}) {
    const std::string text = OneNode(std::string(op)).In(column).In(row).Text();
    EXPECT_TRUE(refused(text)) << text;
  }
  const std::string conv = OneNode("Conv")
                               .In(Cat("float32[", large, ", 1, 2, 2]"))
                               .In(Cat("float32[", large, ", 1, 2, 2]"))
                               .Text();
  EXPECT_TRUE(refused(conv)) << conv;
  const std::string shape = OneNode("ConstantOfShape").Ints({large, 0, large}).Text();
  EXPECT_TRUE(refused(shape)) << shape;
  // The unknown dimension may be 0 and no more.
  const std::string partial =
      OneNode("Expand").In("float32[n, 1, 1]").Ints({1, large, large}).Text();
  EXPECT_TRUE(refused(partial)) << partial;
  EXPECT_EQ(OneNode("ConstantOfShape").Ints({1 << 27, 1 << 27, 0}).Text(),
            "float32[134217728, 134217728, 0]");
}

TEST(HugeSums, AreNamed) {
  OneNode concat("Concat");
  for (int i = 0; i < 2; ++i) concat.In(Cat("float32[", INT64_MAX, "]"));
  EXPECT_EQ(concat.With("axis", int64_t{0}).Text(),
            Cat("Concat: the sum of the dimensions ", INT64_MAX, " and ", INT64_MAX,
                " does not fit into 64 bits; give smaller sizes"));
}

TEST(SqueezeUnsqueeze, Shapes) {
  EXPECT_EQ(OneNode("Squeeze").In("float32[n, 1, 3]").Ints({1}).Text(), "float32[n, 3]");
  EXPECT_EQ(OneNode("Squeeze").In("float32[n, 2]").Ints({-1}).Text(),
            "Squeeze removes dimensions of size 1, dimension 1 of float32[n, 2] is not");
  EXPECT_EQ(OneNode("Unsqueeze").In("float32[n, 3]").Ints({0, -1}).Text(), "float32[1, n, 3, 1]");
  EXPECT_EQ(OneNode("Unsqueeze").In("float32[n]").Ints({0, 0}).Text(),
            "Unsqueeze takes each axis once, got [0, 0] for rank 3");
}

TEST(Reduce, AxesByAttributeAndByInput) {
  EXPECT_EQ(OneNode("ReduceSum").In("float32[n, 2, 3]").Ints({-1, 0}).Text(), "float32[1, 2, 1]");
  EXPECT_EQ(
      OneNode("ReduceSum").In("float32[n, 2, 3]").Ints({0}).With("keepdims", int64_t{0}).Text(),
      "float32[2, 3]");
  EXPECT_EQ(OneNode("ReduceMean", "", 13).In("float32[n, 2]").With("axes", IntList{1}).Text(),
            "float32[n, 1]");
  EXPECT_EQ(
      OneNode("ReduceSum").In("float32[n, 2]").In("int64[1]").With("keepdims", int64_t{0}).Text(),
      "float32[?]");
  EXPECT_EQ(OneNode("ReduceSum").In("float32[n, 2]").With("keepdims", int64_t{0}).Text(),
            "float32[]");
  EXPECT_EQ(OneNode("ReduceSum").In("float32[n, 2]").Ints({2}).Text(),
            "ReduceSum: axis 2 lies outside [-2, 2) for rank 2");
  EXPECT_EQ(OneNode("ReduceMax").In("bool[n, 2]").Ints({1}).Text(), "bool[n, 1]");
  EXPECT_EQ(OneNode("ReduceMax", "", 18).In("bool[n, 2]").Ints({1}).Text(),
            "ReduceMax takes numbers as input 0, got bool[n, 2]");
  EXPECT_EQ(OneNode("ArgMax")
                .In("float32[n, 10]")
                .With("axis", int64_t{-1})
                .With("keepdims", int64_t{0})
                .Text(),
            "int64[n]");
}

TEST(Movement, Shapes) {
  EXPECT_EQ(OneNode("Transpose").In("float32[n, 2, 3]").With("perm", IntList{2, 0, 1}).Text(),
            "float32[3, n, 2]");
  EXPECT_EQ(
      OneNode("Concat").In("float32[n, 2]").In("float32[?, 3]").With("axis", int64_t{1}).Text(),
      "float32[n, 5]");
  EXPECT_EQ(OneNode("Split")
                .In("float32[n, 7]")
                .With("axis", int64_t{1})
                .With("num_outputs", int64_t{2})
                .Outputs(2)
                .Text(),
            "float32[n, 4]; float32[n, 3]");
  EXPECT_EQ(OneNode("Slice")
                .In("float32[n, 10]")
                .Ints({0, -1})
                .Ints({INT64_MAX, 1})
                .Ints({0, 1})
                .Ints({1, -3})
                .Text(),
            "float32[n, 3]");
  EXPECT_EQ(OneNode("Pad").In("float32[n, 3]").Ints({0, 1, 0, -2}).Text(), "float32[n, 2]");
  EXPECT_EQ(OneNode("Tile").In("float32[n, 3]").Ints({1, 2}).Text(), "float32[n, 6]");
  EXPECT_EQ(OneNode("Expand").In("float32[n, 1]").Ints({1, 5}).Text(), "float32[n, 5]");
}

TEST(Movement, BadInputs) {
  EXPECT_EQ(OneNode("Transpose").In("float32[2, 3]").With("perm", IntList{0, 0}).Text(),
            "Transpose's attribute 'perm' [0, 0] is no permutation of 2 axes");
  EXPECT_EQ(
      OneNode("Concat").In("float32[2, 2]").In("float32[3, 2]").With("axis", int64_t{1}).Text(),
      "Concat: dimensions 0 of input 0 (float32[2, 2]) and input 1 (float32[3, 2]) differ: 2 "
      "and 3");
  EXPECT_EQ(OneNode("Split").In("float32[7]").Ints({3, 3}).Outputs(2).Text(),
            "Split into [3, 3] makes 6 of a dimension of 7");
  EXPECT_EQ(OneNode("Split", "", 13).In("float32[7]").Outputs(2).Text(),
            "Split cannot cut input 0 (float32[7]) into 2 equal parts; give their sizes");
  EXPECT_EQ(OneNode("Slice").In("float32[7]").Ints({0}).Ints({1}).Ints({0}).Ints({0}).Text(),
            "Slice's steps are not 0");
  EXPECT_EQ(OneNode("Pad").In("float32[3]").Ints({-2, -2}).Text(),
            "Pad by [-2, -2] takes more than there is from input 0 (float32[3])");
}

TEST(Indexing, Shapes) {
  EXPECT_EQ(OneNode("Gather").In("float32[v, 64]").In("int64[n, 5]").Text(), "float32[n, 5, 64]");
  EXPECT_EQ(OneNode("Gather").In("float32[3, v]").In("int32[]").With("axis", int64_t{1}).Text(),
            "float32[3]");
  EXPECT_EQ(OneNode("GatherND").In("float32[2, 3, v]").In("int64[n, 2]").Text(), "float32[n, v]");
  EXPECT_EQ(OneNode("OneHot").In("int64[n]").Ints({10}).In("float32[2]").Text(), "float32[n, 10]");
  EXPECT_EQ(OneNode("TopK").In("float32[n, 9]").Ints({4}).Outputs(2).Text(),
            "float32[n, 4]; int64[n, 4]");
  EXPECT_EQ(OneNode("Gather").In("float32[3]").In("float32[1]").Text(),
            "Gather takes int64, int32 as input 1, got float32[1]");
  EXPECT_EQ(OneNode("TopK").In("float32[n, 3]").Ints({4}).Outputs(2).Text(),
            "TopK wants a k that fits input 0 (float32[n, 3]), got [4]");
}

TEST(Axes, OfAScalarAreRefused) {
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax", "LpNormalization"}) {
    EXPECT_NE(OneNode(op).In("float32[]").Text().find("axis -1 lies outside"), std::string::npos)
        << OneNode(op).In("float32[]").Text();
    EXPECT_EQ(OneNode(op).In("float32[n, 3]").Text(), "float32[n, 3]");
    EXPECT_EQ(OneNode(op).In("float32").Text(), "float32 of unknown rank");
  }
}

TEST(Generate, Shapes) {
  EXPECT_EQ(OneNode("Shape").In("float32[n, 3, 4]").With("start", int64_t{-2}).Text(), "int64[2]");
  EXPECT_EQ(OneNode("Size").In("float32").Text(), "int64[]");
  EXPECT_EQ(OneNode("ConstantOfShape").Ints({2, 0}).Text(), "float32[2, 0]");
  EXPECT_EQ(OneNode("Constant").With("value_floats", std::vector<double>{1, 2}).Text(),
            "float32[2]");
  EXPECT_EQ(OneNode("Constant").With("value", graph::TensorIndex{7}).Text(),
            "Constant's attribute 'value' names none of the 0 constants");
  EXPECT_EQ(OneNode("RandomUniform").With("shape", IntList{2, 3}).With("dtype", int64_t{11}).Text(),
            "float64[2, 3]");
  EXPECT_EQ(OneNode("RandomNormal").With("shape", IntList{2}).With("dtype", int64_t{7}).Text(),
            "RandomNormal makes floating-point numbers, got dtype 7 (int64)");
}

}  // namespace
}  // namespace hr::ops
