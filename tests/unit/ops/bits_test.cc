#include <gtest/gtest.h>

#include "tests/unit/ops/one_node.h"

namespace hr::ops {
namespace {

TEST(Bits, CombineIntegersOfOneType) {
  for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}) {
    EXPECT_EQ(OneNode(op).In("int8[n, 1]").In("int8[3]").Text(), "int8[n, 3]");
    EXPECT_EQ(OneNode(op).In("float32[2]").In("float32[2]").Text(),
              Cat(op, " takes integers, got input 0 (float32[2])"));
    EXPECT_NE(OneNode(op).In("int8[2]").In("int16[2]").Text(), "int8[2]");
    EXPECT_NE(OneNode(op).In("int8[2]").In("int8[3]").Text(), "int8[2]");
  }
  EXPECT_EQ(OneNode("BitwiseNot").In("uint64[n]").Text(), "uint64[n]");
  EXPECT_EQ(OneNode("BitwiseNot").In("bool[n]").Text(),
            "BitwiseNot takes integers, got input 0 (bool[n])");
}

TEST(Bits, AreShiftedInUnsignedIntegers) {
  auto shift = [](std::string_view type, std::string direction) {
    return OneNode("BitShift").In(type).In(type).With("direction", std::move(direction)).Text();
  };
  EXPECT_EQ(shift("uint8[n]", "LEFT"), "uint8[n]");
  EXPECT_EQ(shift("uint64[2]", "RIGHT"), "uint64[2]");
  EXPECT_EQ(shift("uint8[n]", "left"), "BitShift's 'direction' is LEFT or RIGHT, got 'left'");
  EXPECT_EQ(shift("int8[n]", "LEFT"),
            "BitShift takes uint8, uint16, uint32, uint64 as input 0, got int8[n]");
}

TEST(BitCast, KeepsTheSizeOfElements) {
  auto cast = [](std::string_view type, DType to) {
    return OneNode("BitCast").In(type).With("to", static_cast<int64_t>(to)).Text();
  };
  EXPECT_EQ(cast("float32[n, 2]", DType::kInt32), "int32[n, 2]");
  EXPECT_EQ(cast("uint16[2]", DType::kBfloat16), "bfloat16[2]");
  EXPECT_EQ(cast("float32[2]", DType::kInt64),
            "BitCast goes to a type of 4 bytes as that of input 0 (float32[2]), got int64");
  EXPECT_EQ(cast("int8[2]", DType::kBool),
            "BitCast goes to a type of 1 bytes as that of input 0 (int8[2]), got bool");
  EXPECT_EQ(cast("bool[2]", DType::kInt8), "int8[2]");
  EXPECT_EQ(OneNode("BitCast").In("int8[2]").With("to", int64_t{99}).Text(),
            "BitCast goes to a type of 1 bytes as that of input 0 (int8[2]), got undefined");
}

}  // namespace
}  // namespace hr::ops
