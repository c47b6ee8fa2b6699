#include <gtest/gtest.h>

#include "runtime/transform/gradients.h"

namespace hr::transform {
namespace {

using Ints = std::vector<int64_t>;

// A LeNet-like network over a batch of unknown size.
class LeNet : public ::testing::Test {
 protected:
  ValueId Node(std::string op, std::vector<ValueId> inputs,
               std::vector<graph::Attribute> attributes = {}) {
    auto node = builder_.AddNode({.op = op, .inputs = inputs, .attributes = attributes});
    EXPECT_TRUE(node.ok()) << node.status().ToString();
    return builder_.graph().nodes[*node].outputs[0];
  }

  ValueId Weights(std::string_view name, Dims dims) {
    Tensor initial = Tensor::Create(SystemAllocator(), DType::kFloat32, dims).value();
    uint32_t variable = *builder_.AddVariable(name, initial, true);
    weights_.push_back(*builder_.Read(variable));
    return weights_.back();
  }

  ValueId Loss() {
    graph::ValueType images{.dtype = DType::kFloat32, .ranked = true};
    images.dims = {{.symbol = builder_.AddSymbol("batch")}, {1}, {28}, {28}};
    graph::ValueType labels{.dtype = DType::kInt64, .ranked = true, .dims = {images.dims[0]}};
    ValueId x = *builder_.AddInput("images", images);
    x = Node("Conv", {x, Weights("w1", {20, 1, 5, 5}), Weights("b1", {20})});
    x = Node("MaxPool", {Node("Relu", {x})},
             {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
    x = Node("Conv", {x, Weights("w2", {50, 20, 5, 5}), Weights("b2", {50})});
    x = Node("MaxPool", {Node("Relu", {x})},
             {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
    x = Node("Flatten", {x});
    x = Node("Relu", {Node("Gemm", {x, Weights("w3", {500, 800}), Weights("b3", {500})},
                           {{"transB", int64_t{1}}})});
    x = Node("Gemm", {x, Weights("w4", {500, 10}), Weights("b4", {10})});
    return Node("SoftmaxCrossEntropyLoss", {x, *builder_.AddInput("labels", labels)});
  }

  ops::OpRegistry registry_;
  GraphBuilder builder_{SystemAllocator(), registry_};
  std::vector<ValueId> weights_;
};

TEST_F(LeNet, GradientsHaveTheTypesOfTheWeights) {
  ValueId loss = Loss();
  auto grads = AddGradients(builder_, std::span(&loss, 1), weights_);
  ASSERT_TRUE(grads.ok()) << grads.status().ToString();
  const auto& values = builder_.graph().values;
  for (size_t i = 0; i < weights_.size(); ++i) {
    EXPECT_EQ(values[(*grads)[i]].type, values[weights_[i]].type) << i;
  }
}

TEST_F(LeNet, TheBatchStaysSymbolicEverywhere) {
  ValueId loss = Loss();
  ASSERT_TRUE(AddGradients(builder_, std::span(&loss, 1), weights_).ok());
  for (const graph::Node& node : builder_.graph().nodes) {
    for (ValueId output : node.outputs) {
      const graph::ValueType& type = builder_.graph().values[output].type;
      ASSERT_TRUE(type.ranked) << builder_.module().OperatorOf(node).name;
      for (const graph::Dim& dim : type.dims) {
        EXPECT_TRUE(dim.fixed() || dim.symbol != kNone) << builder_.module().OperatorOf(node).name;
      }
    }
  }
}

TEST_F(LeNet, OptimizerStepsFitTheGradients) {
  ValueId loss = Loss();
  auto grads = AddGradients(builder_, std::span(&loss, 1), weights_);
  ASSERT_TRUE(grads.ok());
  ValueId rate = *builder_.AddInput("learning_rate", graph::ValueType::Tensor(DType::kFloat32, {}));
  Tensor buffer = Tensor::Create(SystemAllocator(), DType::kFloat32, {20}).value();
  ASSERT_TRUE(builder_.AddVariable("buffer", buffer, false).ok());
  auto step = [&](int64_t variable, int64_t momentum) {
    NodeSpec spec{
        .domain = "headrace.train",
        .op = "SGD",
        .inputs = {rate, (*grads)[static_cast<size_t>(variable)]},
        .outputs = 0,
        .attributes = {{"variable", variable}, {"momentum", 0.9}, {"momentum_variable", momentum}}};
    auto node = builder_.AddNode(spec);
    return node.ok() ? std::string() : std::string(node.status().message());
  };
  EXPECT_EQ(step(1, 8), "");
  EXPECT_EQ(
      step(0, 8),
      "SGD's variable 'buffer' wants the type of 'w1', float32[20, 1, 5, 5], got float32[20]");
}

}  // namespace
}  // namespace hr::transform
