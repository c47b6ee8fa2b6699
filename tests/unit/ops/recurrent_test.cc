#include "runtime/ops/recurrent.h"

#include <gtest/gtest.h>

#include "tests/unit/ops/one_node.h"

namespace hr::ops {
namespace {

using Names = std::vector<std::string>;

OneNode Lstm(std::string_view x = "float32[t, n, 3]") {
  OneNode out("LSTM");
  out.In(x).In("float32[1, 20, 3]").In("float32[1, 20, 5]");
  return out;
}

TEST(Recurrent, Shapes) {
  EXPECT_EQ(Lstm().Outputs(4).Text(),
            "float32[t, 1, n, 5]; float32[1, n, 5]; float32[1, n, 5]; float32[1, t, n, 30]");
  EXPECT_EQ(Lstm("float32[n, t, 3]").Outputs(4).With("layout", int64_t{1}).Text(),
            "float32[n, t, 1, 5]; float32[n, 1, 5]; float32[n, 1, 5]; float32[1, n, t, 30]");
  EXPECT_EQ(OneNode("GRU")
                .In("float64[7, 2, ?]")
                .In("float64[2, 12, ?]")
                .In("float64[?, ?, ?]")
                .Outputs(3)
                .With("direction", std::string("bidirectional"))
                .Text(),
            "float64[7, 2, 2, 4]; float64[2, 2, 4]; float64[2, 7, 2, 20]");
}

// What one input leaves open, another may say.
TEST(Recurrent, ShapesFromOtherInputs) {
  EXPECT_EQ(OneNode("RNN")
                .In("float32")
                .In("float32")
                .In("float32")
                .In("")
                .In("int32[n]")
                .With("hidden_size", int64_t{6})
                .Outputs(2)
                .Text(),
            "float32[?, 1, n, 6]; float32[1, n, 6]");
  EXPECT_EQ(OneNode("RNN")
                .In("float32[t, ?, ?]")
                .In("float32")
                .In("float32")
                .In("")
                .In("")
                .In("float32[1, 4, 5]")
                .Text(),
            "float32[t, 1, 4, 5]");
}

TEST(Recurrent, BadShapes) {
  EXPECT_EQ(OneNode("LSTM").In("float32[t, n, 3]").In("float32[1, 20, 4]").In("float32").Text(),
            "LSTM: axis 2 of input 1 (float32[1, 20, 4]) differ: 3 and 4");
  EXPECT_EQ(
      OneNode("GRU").In("float32[t, n, 3]").In("float32[1, 20, 3]").In("float32[1, 20, 5]").Text(),
      "GRU: rows of input 1 (float32[1, 20, 3]) differ: 15 and 20");
  EXPECT_EQ(Lstm().In("float32[1, 20]").Text(),
            "LSTM: axis 1 of input 3 (float32[1, 20]) differ: 40 and 20");
  EXPECT_EQ(Lstm().In("").In("int64[n]").Text(), "LSTM takes int32 as input 4, got int64[n]");
  EXPECT_EQ(Lstm().With("direction", std::string("bidirectional")).Text(),
            "LSTM: axis 0 of input 1 (float32[1, 20, 3]) differ: 2 and 1");
  EXPECT_EQ(Lstm().With("hidden_size", int64_t{4}).Text(),
            "LSTM: axis 2 of input 2 (float32[1, 20, 5]) differ: 4 and 5");
  EXPECT_EQ(Lstm().With("hidden_size", int64_t{0}).Text(),
            "LSTM's 'hidden_size' is 1 or more, got 0");
  EXPECT_EQ(OneNode("RNNGrad", "headrace.grad")
                .In("float32[1, 4, 2, 11]")
                .In("float32[4, 2, 3]")
                .In("float32[1, 5, 3]")
                .In("float32[1, 5, 5]")
                .Outputs(4)
                .Text(),
            "RNNGrad: axis 3 of input 0 (float32[1, 4, 2, 11]) differ: 10 and 11");
}

// Scratch memory has a size, too.
TEST(Recurrent, MoreThanFits) {
  EXPECT_NE(OneNode("RNN")
                .In("float32[1073741824, 1073741824, 0]")
                .In("float32[1, 4, 0]")
                .In("float32[1, 4, 4]")
                .Text()
                .find("does not fit into 64 bits"),
            std::string::npos);
}

TEST(Recurrent, BadAttributes) {
  EXPECT_EQ(Lstm().With("direction", std::string("sideways")).Text(),
            "LSTM's 'direction' is forward, reverse or bidirectional, got 'sideways'");
  EXPECT_EQ(Lstm().With("layout", int64_t{2}).Text(), "LSTM's 'layout' is 0 or 1, got 2");
  EXPECT_EQ(Lstm().With("clip", 0.0).Text(),
            "LSTM's 'clip' is greater than 0, got 0; leave it out to clip nothing");
  EXPECT_EQ(Lstm().With("activations", Names{"Tanh"}).Text(),
            "LSTM's attribute 'activations' wants 3 names for forward, got 1");
  EXPECT_EQ(Lstm().With("activations", Names{"Tanh", "tanh", "Tanh"}).Text().substr(0, 50),
            "LSTM has no activation 'tanh'; there are Affine, E");
  EXPECT_EQ(Lstm().With("activation_alpha", std::vector<double>{1}).Text(),
            "LSTM's attribute 'activation_alpha' has 1 values, and its activations take 0");
}

std::string LinearAttention(const char* rule, std::initializer_list<std::string_view> inputs) {
  OneNode node("LinearAttention");
  for (std::string_view input : inputs) node.In(input);
  node.With("q_num_heads", int64_t{4}).With("kv_num_heads", int64_t{2});
  return node.With("update_rule", std::string(rule)).Outputs(2).Text();
}

TEST(LinearAttention, Shapes) {
  EXPECT_EQ(
      LinearAttention("linear", {"float16[n, t, 12]", "float16[n, ?, 6]", "float16[n, t, 10]"}),
      "float16[n, t, 20]; float16[n, 2, 3, 5]");
  EXPECT_EQ(
      LinearAttention("linear", {"float16[n, t, 12]", "float16", "float16", "float32[1, 2, 3, 5]"}),
      "float16[1, t, 20]; float32[1, 2, 3, 5]");
}

TEST(LinearAttention, BadInputs) {
  const char *const q = "float32[n, t, 12]", *const k = "float32[n, t, 6]";
  EXPECT_EQ(LinearAttention("linear", {q, "float32[n, t, 4]", k}),
            "LinearAttention: sizes of a head up to input 1 (float32[n, t, 4]) differ: 3 and 2");
  EXPECT_EQ(LinearAttention("linear", {"float32[n, t, 10]", k, k}),
            "LinearAttention cannot cut the last axis of input 0 (float32[n, t, 10]) into 4 heads");
  EXPECT_EQ(LinearAttention("gated", {q, k, k}),
            "LinearAttention with update_rule gated needs its input 4, the decay");
  EXPECT_EQ(LinearAttention("linear", {q, k, k, "", "", "float32[n, t, 2]"}),
            "LinearAttention with update_rule linear has no input 5, beta");
  EXPECT_EQ(LinearAttention("gated", {q, k, k, "", "float32[n, t, 3]"}),
            "LinearAttention wants one value a head in input 4 (float32[n, t, 3]), or one a key; "
            "there are 2 heads");
  EXPECT_EQ(LinearAttention("none", {q, k, k}),
            "LinearAttention's 'update_rule' is linear, gated, delta or gated_delta, got 'none'");
}

// Each function takes the next of the values that it has; what is left out is ONNX's default.
TEST(Recurrent, ParametersOfActivations) {
  graph::Node node;
  node.attributes = {{"activations", Names{"Elu", "Tanh", "HardSigmoid", "ScaledTanh"}},
                     {"activation_alpha", std::vector<double>{0.75, 0.25}},
                     {"activation_beta", std::vector<double>{0.5}},
                     {"direction", std::string("bidirectional")}};
  auto options = ResolveRecurrent("GRU", node);
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  ASSERT_EQ(options->directions.size(), 2u);
  EXPECT_FALSE(options->directions[0].reverse);
  EXPECT_TRUE(options->directions[1].reverse);
  EXPECT_EQ(options->directions[0].activations[0].alpha, 0.75);
  EXPECT_EQ(options->directions[1].activations[0].function, RecurrentActivation::kHardSigmoid);
  EXPECT_EQ(options->directions[1].activations[0].alpha, 0.25);
  EXPECT_EQ(options->directions[1].activations[0].beta, 0.5);
  EXPECT_EQ(options->directions[1].activations[1].alpha, 1);
  EXPECT_EQ(options->directions[1].activations[1].beta, 1);
}

}  // namespace
}  // namespace hr::ops
