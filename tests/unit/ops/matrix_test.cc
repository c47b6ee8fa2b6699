#include <gtest/gtest.h>

#include "tests/unit/ops/one_node.h"

namespace hr::ops {
namespace {

TEST(Gemm, Shapes) {
  EXPECT_EQ(OneNode("Gemm")
                .In("float32[batch, 800]")
                .In("float32[500, 800]")
                .In("float32[500]")
                .With("transB", int64_t{1})
                .Text(),
            "float32[batch, 500]");
  EXPECT_EQ(
      OneNode("Gemm").In("float32[8, m]").In("float32[8, 4]").With("transA", int64_t{1}).Text(),
      "float32[m, 4]");
}

TEST(Gemm, BadInputs) {
  EXPECT_EQ(OneNode("Gemm").In("float32[2, 3]").In("float32[4, 5]").Text(),
            "Gemm: the inner dimensions of input 0 (float32[2, 3]) and input 1 (float32[4, 5]) "
            "differ: 3 and 4");
  EXPECT_EQ(OneNode("Gemm").In("float32[2, 3]").In("float32[3, 5]").In("float32[2]").Text(),
            "Gemm cannot broadcast float32[2, 5] with float32[2]: dimensions 5 and 2 differ and "
            "neither is 1");
  EXPECT_EQ(OneNode("Gemm").In("float32[1, 3]").In("float32[3, 5]").In("float32[2, 5]").Text(),
            "Gemm's input 2 (float32[2, 5]) does not broadcast to float32[1, 5]");
  EXPECT_EQ(OneNode("Gemm").In("float32[1, 2, 3]").In("float32[3, 5]").Text(),
            "Gemm takes rank 2 as input 0, got float32[1, 2, 3]");
}

TEST(MatMul, Shapes) {
  auto product = [](std::string_view a, std::string_view b) {
    return OneNode("MatMul").In(a).In(b).Text();
  };
  EXPECT_EQ(product("float32[n, 3]", "float32[3, 4]"), "float32[n, 4]");
  EXPECT_EQ(product("float32[5, 1, 2, 3]", "float32[b, 3, 4]"), "float32[5, b, 2, 4]");
  EXPECT_EQ(product("float32[3]", "float32[3, 4]"), "float32[4]");
  EXPECT_EQ(product("float32[2, 3]", "float32[3]"), "float32[2]");
  EXPECT_EQ(product("float32[3]", "float32[3]"), "float32[]");
  EXPECT_EQ(product("float32[2, 3]", "float32"), "float32 of unknown rank");
  EXPECT_EQ(product("float32[2, 3]", "float32[]"),
            "MatMul takes rank 1 or more as input 1, got float32[]");
}

TEST(Loss, Shapes) {
  EXPECT_EQ(
      OneNode("SoftmaxCrossEntropyLoss").In("float32[n, 10]").In("int64[n]").Outputs(2).Text(),
      "float32[]; float32[n, 10]");
  EXPECT_EQ(OneNode("SoftmaxCrossEntropyLoss")
                .In("float32[n, 10, 7]")
                .In("int32[?, 7]")
                .In("float32[10]")
                .With("reduction", std::string("none"))
                .Text(),
            "float32[n, 7]");
}

TEST(Loss, BadInputs) {
  auto loss = [](std::string_view scores, std::string_view labels, std::string_view weights) {
    return OneNode("SoftmaxCrossEntropyLoss").In(scores).In(labels).In(weights).Text();
  };
  EXPECT_EQ(loss("float32[8, 10]", "float32[8]", ""),
            "SoftmaxCrossEntropyLoss takes int64, int32 as input 1, got float32[8]");
  EXPECT_EQ(
      loss("float32[8, 10]", "int64[7]", ""),
      "SoftmaxCrossEntropyLoss: scores and labels, float32[8, 10] and int64[7], differ: 8 and 7");
  EXPECT_EQ(loss("float32[8, 10]", "int64[8]", "float32[9]"),
            "SoftmaxCrossEntropyLoss: classes and weights differ: 10 and 9");
  EXPECT_EQ(OneNode("Softmax").In("float32[2]").With("axis", int64_t{1}).Text(),
            "Softmax: axis 1 lies outside [-1, 1) for rank 1");
}

TEST(Optimizer, ChecksItsVariables) {
  auto sgd = [](std::string_view grad, double momentum) {
    return OneNode("SGD", "headrace.train")
        .Variable("w", DType::kFloat64, {2, 3})
        .In("float32[]")
        .In(grad)
        .With("variable", int64_t{0})
        .With("momentum", momentum)
        .Outputs(0)
        .Text();
  };
  EXPECT_EQ(sgd("float64[2, 3]", 0), "");
  EXPECT_EQ(sgd("float64[3]", 0),
            "SGD of variable 'w' takes a gradient of type float64[2, 3], got float64[3]");
  EXPECT_EQ(sgd("float64[2, 3]", 0.9), "SGD with momentum needs its attribute 'momentum_variable'");
}

TEST(Optimizer, AdamCountsItsSteps) {
  auto adam = [](int64_t step) {
    return OneNode("Adam", "headrace.train")
        .Variable("w", DType::kFloat32, {2})
        .Variable("m", DType::kFloat32, {2})
        .Variable("v", DType::kFloat32, {2})
        .Variable("t", DType::kInt64, {})
        .In("float32[]")
        .In("float32[2]")
        .With("variable", int64_t{0})
        .With("m_variable", int64_t{1})
        .With("v_variable", int64_t{2})
        .With("step_variable", step)
        .Outputs(0)
        .Text();
  };
  EXPECT_EQ(adam(3), "");
  EXPECT_EQ(adam(2), "Adam's variable 'v' wants int64[], got float32[2]");
  EXPECT_EQ(adam(9), "Adam's attribute 'step_variable' names variable 9, there are 4");
}

}  // namespace
}  // namespace hr::ops
