#include <gtest/gtest.h>

#include "tests/unit/ops/one_node.h"

namespace hr::ops {
namespace {

std::string Binary(std::string op, std::string_view a, std::string_view b) {
  return OneNode(op).In(a).In(b).Text();
}

TEST(Broadcast, Dimensions) {
  EXPECT_EQ(Binary("Add", "float32[batch, 1, 3]", "float32[4, 1]"), "float32[batch, 4, 3]");
  EXPECT_EQ(Binary("Add", "float32[batch, 3]", "float32[batch, 1]"), "float32[batch, 3]");
  EXPECT_EQ(Binary("Add", "float32[a]", "float32[b]"), "float32[?]");
  EXPECT_EQ(Binary("Add", "float32[a]", "float32[5]"), "float32[5]");
  EXPECT_EQ(Binary("Add", "float32[0]", "float32[1]"), "float32[0]");
  EXPECT_EQ(Binary("Add", "float32", "float32[1]"), "float32 of unknown rank");
}

TEST(Broadcast, BadInputs) {
  EXPECT_EQ(Binary("Mul", "float32[2, 3]", "float32[2]"),
            "Mul cannot broadcast float32[2, 3] with float32[2]: dimensions 3 and 2 differ and "
            "neither is 1");
  EXPECT_EQ(Binary("Mul", "float32[2]", "float64[2]"),
            "Mul takes inputs 0 and 1 of one type, got float32[2] and float64[2]; insert a Cast");
  EXPECT_EQ(Binary("Sub", "bool[2]", "bool[2]"), "Sub takes numbers as input 0, got bool[2]");
}

TEST(Elementwise, TypesOfTheirOwn) {
  EXPECT_EQ(Binary("Equal", "bool[2]", "bool[n, 1]"), "bool[n, 2]");
  EXPECT_EQ(Binary("Less", "int8[2]", "int8[]"), "bool[2]");
  EXPECT_EQ(Binary("Pow", "float32[2, 1]", "int64[3]"), "float32[2, 3]");
  EXPECT_EQ(OneNode("Where").In("bool[n, 1]").In("int64[3]").In("int64[]").Text(), "int64[n, 3]");
  EXPECT_EQ(OneNode("Max").In("float32[2, 1]").In("float32[3]").In("float32[4, 1, 1]").Text(),
            "float32[4, 2, 3]");
  EXPECT_EQ(OneNode("Cast").In("float32[n]").With("to", int64_t{7}).Text(), "int64[n]");
}

TEST(Elementwise, BadInputs) {
  EXPECT_EQ(OneNode("Exp").In("int64[2]").Text(),
            "Exp takes float32, float64, float16, bfloat16 as input 0, got int64[2]");
  EXPECT_EQ(Binary("And", "int64[2]", "int64[2]"), "And takes bool as input 0, got int64[2]");
  EXPECT_EQ(Binary("Mod", "float32[2]", "float32[2]"),
            "Mod of floating-point numbers wants its attribute fmod = 1, got input 0 (float32[2])");
  EXPECT_EQ(OneNode("Cast").In("float32[2]").With("to", int64_t{8}).Text(),
            "Cast's attribute 'to' names no type that tensors can have: 8 (string)");
  EXPECT_EQ(OneNode("Cast").In("float32[2]").Text(), "Cast needs its attribute 'to'");
  EXPECT_EQ(OneNode("LeakyRelu").In("float32[2]").With("beta", 1.0).Text(),
            "LeakyRelu has no attribute 'beta'; it has alpha");
  EXPECT_EQ(OneNode("LeakyRelu").In("float32[2]").With("alpha", int64_t{1}).Text(),
            "LeakyRelu's attribute 'alpha' is a float, got an integer");
  EXPECT_EQ(OneNode("Add").In("float32[2]").Text(), "Add takes 2 inputs, got 1");
  EXPECT_EQ(OneNode("Sum").In("float32[2]").In("").Text(), "Sum needs its input 1");
}

}  // namespace
}  // namespace hr::ops
