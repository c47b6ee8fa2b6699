#include <gtest/gtest.h>

#include "tests/unit/ops/one_node.h"

namespace hr::ops {
namespace {

// query, key and value, then the optional inputs.
OneNode Attention(std::string_view q, std::string_view k, std::string_view v) {
  OneNode node("Attention");
  node.In(q).In(k).In(v);
  return node;
}

TEST(Attention, HasTheShapeOfItsQueries) {
  EXPECT_EQ(
      Attention("float32[b, 8, q, 64]", "float32[b, 2, k, 64]", "float32[b, 2, k, 32]").Text(),
      "float32[b, 8, q, 32]");
  EXPECT_EQ(Attention("float32[b, q, 512]", "float32[b, k, 128]", "float32[b, k, 64]")
                .With("q_num_heads", int64_t{8})
                .With("kv_num_heads", int64_t{2})
                .Text(),
            "float32[b, q, 256]");
  EXPECT_EQ(Attention("float16", "float16[1, 1, 2, 3]", "float16[1, 1, 2, 3]").Text(),
            "float16 of unknown rank");
}

TEST(Attention, PresentFollowsThePast) {
  EXPECT_EQ(Attention("float32[b, 4, 1, 8]", "float32[b, 4, 1, 8]", "float32[b, 4, 1, 6]")
                .In("")
                .In("float32[b, 4, 15, 8]")
                .In("float32[b, 4, 15, 6]")
                .Outputs(4)
                .Text(),
            "float32[b, 4, 1, 6]; float32[b, 4, 16, 8]; float32[b, 4, 16, 6]; "
            "float32[b, 4, 1, 16]");
  EXPECT_EQ(Attention("float32[b, 4, 1, 8]", "float32[b, 4, 1, 8]", "float32[b, 4, 1, 8]")
                .In("")
                .In("float32[b, 4, past, 8]")
                .In("float32[b, 4, past, 8]")
                .Outputs(2)
                .Text(),
            "float32[b, 4, 1, 8]; float32[b, 4, ?, 8]");
}

TEST(Attention, BadInputs) {
  const std::string x = "float32[2, 4, 3, 8]";
  EXPECT_EQ(Attention(x, "float32[2, 4, 5, 6]", "float32[2, 4, 5, 6]").Text(),
            "Attention: the sizes of query and key heads differ: 8 and 6");
  EXPECT_EQ(Attention(x, "float32[2, 4, 5, 8]", "float32[2, 4, 6, 8]").Text(),
            "Attention: the positions of keys and values differ: 5 and 6");
  EXPECT_EQ(Attention(x, "float32[2, 3, 5, 8]", "float32[2, 3, 5, 8]").Text(),
            "Attention shares each key head among as many query heads: 4 query heads and 3 key "
            "heads do not fit");
  EXPECT_EQ(Attention(x, "float32[2, 4, 5, 8]", "float32[2, 2, 5, 8]").Text(),
            "Attention: the heads of keys and values differ: 4 and 2");
  EXPECT_EQ(Attention(x, "float32[3, 4, 5, 8]", "float32[3, 4, 5, 8]").Text(),
            "Attention: the batches of queries and keys differ: 2 and 3");
  EXPECT_EQ(Attention("float32[2, 8]", x, x).Text(),
            "Attention takes inputs of rank 3 or 4, got input 0 (float32[2, 8])");
  EXPECT_EQ(Attention("float32[2, 3, 8]", "float32[2, 3, 8]", "float32[2, 3, 8]").Text(),
            "Attention takes input 0 (float32[2, 3, 8]) of rank 3 only with 'q_num_heads' and "
            "'kv_num_heads'");
  EXPECT_EQ(Attention("float32[2, 3, 8]", "float32[2, 3, 8]", "float32[2, 3, 8]")
                .With("q_num_heads", int64_t{3})
                .With("kv_num_heads", int64_t{1})
                .Text(),
            "Attention cannot divide input 0 (float32[2, 3, 8]) into 3 heads");
  EXPECT_EQ(Attention(x, x, x).In("").In(x).Text(),
            "Attention takes past_key and past_value together");
  EXPECT_EQ(Attention(x, x, x).In("").In("float32[2, 2, 3, 8]").In("float32[2, 2, 3, 8]").Text(),
            "Attention: axis 1 of input 4 (float32[2, 2, 3, 8]) and of what follows it differ: "
            "2 and 4");
  EXPECT_EQ(Attention(x, x, x).With("qk_matmul_output_mode", int64_t{4}).Text(),
            "Attention's 'qk_matmul_output_mode' is 0 to 3, got 4");
  EXPECT_EQ(Attention(x, x, x).In("").In("").In("").In("int64[2, 1]").Text(),
            "Attention takes rank 1 as input 6, got int64[2, 1]");
  EXPECT_EQ(Attention(x, x, x).In("float32[3, 1, 1, 3]").Text(),
            "Attention cannot broadcast float32[3, 1, 1, 3] with float32[2, 4, 3, 3]: dimensions 3 "
            "and 2 differ and neither is 1");
  EXPECT_EQ(Attention(x, x, x).In("float32[3, 4]").Text(),
            "Attention cannot broadcast float32[3, 4] with float32[2, 4, 3, 3]: dimensions 4 and 3 "
            "differ and neither is 1");
  EXPECT_EQ(Attention(x, x, x).In("float32[3, 2]").Text(), "float32[2, 4, 3, 8]");
  EXPECT_EQ(Attention(x, x, x).In("").In("").In("").In("int64[3]").Text(),
            "Attention cannot broadcast int64[3] with int64[2]: dimensions 3 and 2 differ and "
            "neither is 1");
  EXPECT_EQ(Attention("int32[2, 4, 3, 8]", x, x).Text(),
            "Attention takes float32, float64, float16, bfloat16 as input 0, got "
            "int32[2, 4, 3, 8]");
}

TEST(Attention, ComposesWithoutCopiesOfSharedHeads) {
  EXPECT_EQ(
      Attention("float32[b, 4, q, 8]", "float32[b, 4, k, 8]", "float32[b, 4, k, 8]").Composition(),
      "Transpose Mul MatMul Shape Softmax MatMul");
  const std::string shared =
      Attention("float32[b, 4, q, 8]", "float32[b, 2, k, 8]", "float32[b, 2, k, 8]").Composition();
  EXPECT_EQ(shared.find("Expand"), std::string::npos) << shared;
}

TEST(RotaryEmbedding, KeepsTheType) {
  EXPECT_EQ(OneNode("RotaryEmbedding")
                .In("float32[b, 4, p, 8]")
                .In("float32[b, p, 4]")
                .In("float32[b, p, 4]")
                .Text(),
            "float32[b, 4, p, 8]");
  EXPECT_EQ(OneNode("RotaryEmbedding")
                .In("float16[b, p, 32]")
                .In("float16[100, 4]")
                .In("float16[100, 4]")
                .In("int64[b, p]")
                .With("num_heads", int64_t{4})
                .Text(),
            "float16[b, p, 32]");
}

TEST(RotaryEmbedding, BadInputs) {
  auto rotary = [](std::string_view x, std::string_view angles, bool positions, int64_t heads,
                   int64_t turned) {
    OneNode node("RotaryEmbedding");
    node.In(x).In(angles).In(angles);
    if (positions) node.In("int64[2, 3]");
    return node.With("num_heads", heads).With("rotary_embedding_dim", turned).Text();
  };
  EXPECT_EQ(rotary("float32[2, 8]", "float32[2, 3, 4]", false, 1, 0),
            "RotaryEmbedding takes an input of rank 3 or 4, got input 0 (float32[2, 8])");
  EXPECT_EQ(rotary("float32[2, 3, 8]", "float32[2, 3, 4]", false, 0, 0),
            "RotaryEmbedding of rank 3 needs 'num_heads'");
  EXPECT_EQ(rotary("float32[2, 1, 3, 8]", "float32[2, 3, 4]", false, 0, 3),
            "RotaryEmbedding turns pairs: 'rotary_embedding_dim' is even, got 3");
  EXPECT_EQ(rotary("float32[2, 1, 3, 8]", "float32[3, 4]", false, 0, 0),
            "RotaryEmbedding takes rank 3 as input 1, got float32[3, 4]");
  EXPECT_EQ(rotary("float32[2, 1, 3, 8]", "float32[2, 3, 4]", true, 0, 0),
            "RotaryEmbedding takes rank 2 as input 1, got float32[2, 3, 4]");
  EXPECT_EQ(rotary("float32[2, 1, 3, 8]", "float64[2, 3, 4]", false, 0, 0),
            "RotaryEmbedding takes inputs 0 and 1 of one type, got float32[2, 1, 3, 8] and "
            "float64[2, 3, 4]; insert a Cast");
  EXPECT_EQ(
      rotary("float32[2, 1, 3, 7]", "float32[2, 3, 4]", false, 0, 0),
      "RotaryEmbedding cannot turn 7 of input 0 (float32[2, 1, 3, 7]) in pairs, with 1 heads on "
      "the last axis");
  EXPECT_EQ(
      rotary("float32[2, 1, 3, 8]", "float32[2, 3, 3]", false, 0, 0),
      "RotaryEmbedding: the pairs that are turned and input 1 (float32[2, 3, 3]) differ: 4 and 3");
}

}  // namespace
}  // namespace hr::ops
