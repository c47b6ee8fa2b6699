#include <gtest/gtest.h>

#include "tests/unit/ops/one_node.h"

namespace hr::ops {
namespace {

TEST(QuantizeLinear, TypeOfTheZeroPoint) {
  EXPECT_EQ(OneNode("QuantizeLinear").In("float32[n, 3]").In("float32[]").Text(), "uint8[n, 3]");
  EXPECT_EQ(OneNode("QuantizeLinear").In("float32[n, 3]").In("float32[3]").In("int8[3]").Text(),
            "int8[n, 3]");
  EXPECT_EQ(OneNode("QuantizeLinear")
                .In("float16[n, 3]")
                .In("float16[]")
                .With("output_dtype", int64_t{5})
                .Text(),
            "int16[n, 3]");
  EXPECT_EQ(OneNode("QuantizeLinear")
                .In("float32[6, 3]")
                .In("float32[2, 3]")
                .With("axis", int64_t{0})
                .With("block_size", int64_t{3})
                .Text(),
            "uint8[6, 3]");
}

TEST(QuantizeLinear, BadInputs) {
  auto quantize = [](std::string_view scale, int64_t block = 0) {
    return OneNode("QuantizeLinear").In("float32[n, 3]").In(scale).With("block_size", block).Text();
  };
  EXPECT_EQ(quantize("float32[4]"),
            "QuantizeLinear: axis 1 and input 1 (float32[4]) differ: 3 and 4");
  EXPECT_EQ(quantize("float32[n, 3]"), "QuantizeLinear takes rank 1 as input 1, got float32[n, 3]");
  EXPECT_EQ(quantize("float32[3]", 2), "QuantizeLinear takes rank 2 as input 1, got float32[3]");
  EXPECT_EQ(quantize("float32[n, 1]", 2),
            "QuantizeLinear: the blocks of axis 1 and input 1 (float32[n, 1]) differ: 2 and 1");
  EXPECT_EQ(quantize("float32[]", -1), "QuantizeLinear's 'block_size' is 0 or more, got -1");
  EXPECT_EQ(quantize("int32[]"),
            "QuantizeLinear takes float32, float64, float16, bfloat16 as input 1, got int32[]");
  EXPECT_EQ(
      OneNode("QuantizeLinear")
          .In("float32[2]")
          .In("float32[]")
          .With("output_dtype", int64_t{7})
          .Text(),
      "QuantizeLinear gives int8, uint8, int16, uint16 or a float of 8 bits here, asked for int64");
  EXPECT_EQ(OneNode("QuantizeLinear").In("float32[2, 3]").In("float32[3]").In("int8[2]").Text(),
            "QuantizeLinear has a zero point for each scale, got input 1 (float32[3]) and input 2 "
            "(int8[2])");
}

TEST(DequantizeLinear, TypeOfTheScale) {
  EXPECT_EQ(OneNode("DequantizeLinear").In("int8[n, 3]").In("float16[]").Text(), "float16[n, 3]");
  EXPECT_EQ(OneNode("DequantizeLinear")
                .In("int32[n, 3]")
                .In("float32[3]")
                .With("output_dtype", int64_t{10})
                .Text(),
            "float16[n, 3]");
  EXPECT_EQ(OneNode("DequantizeLinear").In("int64[n, 3]").In("float32[]").Text(),
            "DequantizeLinear takes int8, uint8, int16, uint16, int32 or a float of 8 bits here, "
            "got int64");
  EXPECT_EQ(OneNode("DequantizeLinear").In("int8[n, 3]").In("float32[]").In("uint8[]").Text(),
            "DequantizeLinear takes inputs 0 and 2 of one type, got int8[n, 3] and uint8[]; insert "
            "a Cast");
  EXPECT_EQ(OneNode("DequantizeLinear")
                .In("int8[n, 3]")
                .In("float32[]")
                .With("output_dtype", int64_t{7})
                .Text(),
            "DequantizeLinear gives floating-point numbers, asked for int64");
}

TEST(QuantizedProducts, Types) {
  EXPECT_EQ(OneNode("MatMulInteger").In("uint8[n, 4]").In("int8[4, 3]").Text(), "int32[n, 3]");
  EXPECT_EQ(OneNode("ConvInteger").In("uint8[n, 2, 5, 5]").In("uint8[3, 2, 3, 3]").Text(),
            "int32[n, 3, 3, 3]");
  auto linear = [](const char* op, std::string_view a, std::string_view b,
                   std::string_view y_zero) {
    OneNode node(op);
    node.In(a).In("float32[]").In("uint8[]").In(b).In("float32[]").In("int8[]").In("float32[]");
    node.In(y_zero);
    return node;
  };
  EXPECT_EQ(linear("QLinearMatMul", "uint8[n, 4]", "int8[4, 3]", "int8[]").Text(), "int8[n, 3]");
  EXPECT_EQ(
      linear("QLinearConv", "uint8[n, 2, 5]", "int8[3, 2, 3]", "uint8[]").In("int32[3]").Text(),
      "uint8[n, 3, 3]");
  EXPECT_EQ(linear("QLinearMatMul", "uint8[n, 4]", "int8[4, 3]", "int16[]").Text(),
            "QLinearMatMul takes int8, uint8 as input 7, got int16[]");
  EXPECT_EQ(
      linear("QLinearMatMul", "int8[n, 4]", "int8[4, 3]", "int8[]").Text(),
      "QLinearMatMul takes inputs 0 and 2 of one type, got int8[n, 4] and uint8[]; insert a Cast");
  EXPECT_EQ(
      linear("QLinearConv", "uint8[n, 2, 5]", "int8[3, 2, 3]", "uint8[]").In("float32[3]").Text(),
      "QLinearConv takes int32 as input 8, got float32[3]");
}

TEST(QuantizedProducts, BadInputs) {
  EXPECT_EQ(OneNode("MatMulInteger").In("int16[n, 4]").In("int8[4, 3]").Text(),
            "MatMulInteger takes int8, uint8 as input 0, got int16[n, 4]");
  const std::string sizes = OneNode("MatMulInteger").In("uint8[n, 4]").In("int8[5, 3]").Text();
  EXPECT_NE(sizes.find("MatMulInteger"), std::string::npos) << sizes;
  const auto zeros = [](std::string_view a, std::string_view b) {
    return OneNode("MatMulInteger").In("uint8[3, 4]").In("int8[4, 5]").In(a).In(b).Text();
  };
  EXPECT_EQ(zeros("uint8[3]", "int8[5]"), "int32[3, 5]");
  EXPECT_EQ(zeros("uint8[3, 1]", "int8[1]"), "int32[3, 5]");
  EXPECT_EQ(zeros("uint8[4]", "int8[]"),
            "MatMulInteger cannot broadcast uint8[4] with uint8[3]: dimensions 4 and 3 differ and "
            "neither is 1");
  EXPECT_EQ(zeros("uint8[]", "int8[4]"),
            "MatMulInteger cannot broadcast int8[4] with int8[5]: dimensions 4 and 5 differ and "
            "neither is 1");
  EXPECT_EQ(OneNode("ConvInteger").In("uint8[1, 2, 5]").In("int8[3, 2, 3]").In("uint8[2]").Text(),
            "ConvInteger: uint8[2] does not broadcast to uint8[1]");
  EXPECT_EQ(OneNode("DynamicQuantizeLinear").In("float64[n, 4]").Text(),
            "DynamicQuantizeLinear takes float32 as input 0, got float64[n, 4]");
  EXPECT_EQ(OneNode("DynamicQuantizeLinear").In("float32[n, 4]").Outputs(3).Text(),
            "uint8[n, 4]; float32[]; uint8[]");
}

TEST(QuantizedProducts, SayThatTheyNeedRanks) {
  const auto needs = [](std::string_view value, std::string_view op) {
    return Cat("FAILED_PRECONDITION: needs to know the rank of ", value, " (node '", op, "')");
  };
  for (const char* op : {"QLinearMatMul", "QLinearConv"}) {
    OneNode node(op);
    node.In("uint8").In("float32[]").In("uint8[]").In("int8").In("float32[]").In("int8[]");
    EXPECT_EQ(node.In("float32[]").In("uint8[]").Composition(), needs("x3", op));
  }
  EXPECT_EQ(OneNode("ConvInteger").In("uint8").In("uint8").Composition(),
            needs("x1", "ConvInteger"));
  EXPECT_EQ(OneNode("QuantizeLinear").In("float32").In("float32[3]").Composition(),
            needs("x0", "QuantizeLinear"));
  EXPECT_EQ(OneNode("DequantizeLinear").In("int8[2]").In("float32").Composition(),
            needs("x1", "DequantizeLinear"));
  EXPECT_EQ(OneNode("Hardmax").In("float32").Composition(), needs("x0", "Hardmax"));
}

}  // namespace
}  // namespace hr::ops
