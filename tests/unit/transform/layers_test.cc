#include "runtime/transform/layers.h"

#include <cmath>

#include "tests/unit/transform/built_graph.h"

namespace hr::transform {
namespace {

class Layers : public BuiltGraph {
 protected:
  // "name dtype[dims] within bound" of a variable.
  std::string Text(size_t i) const {
    const graph::Variable& variable = builder_.module().variables[i];
    const graph::Graph& body = builder_.module().graphs[variable.initial_graph];
    const graph::Node& draw = body.nodes[0];
    const double low = draw.Float("low", 0), high = draw.Float("high", 0);
    EXPECT_EQ(builder_.module().OperatorOf(draw).name, "RandomUniform");
    EXPECT_EQ(low, -high);
    EXPECT_TRUE(variable.trainable);
    EXPECT_EQ(body.values[body.outputs[0]].type,
              graph::ValueType::Tensor(variable.dtype, variable.dims));
    return Cat(variable.name, " ", DTypeName(variable.dtype), variable.dims, " within 1/sqrt(",
               std::lround(1 / (high * high)), ")");
  }
  std::string TypeOf(ValueId value) const {
    return graph::TypeText(builder_.graph().values[value].type, builder_.module().symbols);
  }
  static std::string MessageOf(const Result<ValueId>& result) {
    return std::string(result.status().message());
  }
};

TEST_F(Layers, DenseHasAWeightAndABias) {
  const ValueId y = *Dense(builder_, "dense", Input("x", {7, 20}), 5);
  EXPECT_EQ(TypeOf(y), "float32[7, 5]");
  EXPECT_EQ(Text(0), "dense/weight float32[5, 20] within 1/sqrt(20)");
  EXPECT_EQ(Text(1), "dense/bias float32[5] within 1/sqrt(20)");
  EXPECT_EQ(builder_.graph().nodes[Producer(y)].name, "dense");
}

TEST_F(Layers, DenseFlattensAndKeepsTypeAndBatch) {
  graph::ValueType type = graph::ValueType::Tensor(DType::kFloat64, {0, 4, 5});
  type.dims[0] = {.symbol = builder_.AddSymbol("batch")};
  const ValueId y = *Dense(builder_, "dense", *builder_.AddInput("x", type), 3);
  EXPECT_EQ(TypeOf(y), "float64[batch, 3]");
  EXPECT_EQ(Text(0), "dense/weight float64[3, 20] within 1/sqrt(20)");
}

TEST_F(Layers, Conv2dHasAKernelAndABias) {
  const ValueId y = *Conv2d(builder_, "conv", Input("x", {2, 6, 8, 8}), 4, 3, {});
  EXPECT_EQ(TypeOf(y), "float32[2, 4, 6, 6]");
  EXPECT_EQ(Text(0), "conv/weight float32[4, 6, 3, 3] within 1/sqrt(54)");
  EXPECT_EQ(Text(1), "conv/bias float32[4] within 1/sqrt(54)");
}

TEST_F(Layers, GroupsSeeTheirChannelsAlone) {
  const ValueId x = Input("x", {2, 6, 8, 8}, DType::kFloat64);
  const ValueId y = *Conv2d(builder_, "conv", x, 4, 3, {{"group", int64_t{2}}});
  EXPECT_EQ(TypeOf(y), "float64[2, 4, 6, 6]");
  EXPECT_EQ(Text(0), "conv/weight float64[4, 3, 3, 3] within 1/sqrt(27)");
}

TEST_F(Layers, OfOneNameShareTheirVariables) {
  const ValueId x = Input("x", {7, 20});
  const NodeId first = Producer(*Dense(builder_, "dense", x, 5));
  const NodeId second = Producer(*Dense(builder_, "dense", x, 5));
  EXPECT_EQ(builder_.module().variables.size(), 2u);
  EXPECT_EQ(builder_.graph().nodes[first].inputs, builder_.graph().nodes[second].inputs);
  EXPECT_EQ(builder_.graph().nodes[second].name, "dense_1");
  EXPECT_EQ(MessageOf(Dense(builder_, "dense", x, 6)),
            "layer 'dense' needs 'dense/weight' to be float32[6, 20], and a variable of that name "
            "is float32[5, 20]; use another name, or the same sizes to share it");
  EXPECT_EQ(Dense(builder_, "dense", Input("d", {7, 20}, DType::kFloat64), 5).status().code(),
            Code::kAlreadyExists);
  // A node of that name that is no layer's is in the way, as ever.
  AddNode({.op = "Relu", .inputs = {x}, .name = "taken"});
  EXPECT_EQ(Dense(builder_, "taken", x, 5).status().code(), Code::kAlreadyExists);
}

TEST_F(Layers, UseTheVariablesOfTheStartOfTheStep) {
  const ValueId x = Input("x", {7, 2});
  const uint32_t weight =
      *builder_.AddVariable("d/weight", Make(DType::kFloat32, {1, 2}, {1, 2}), true);
  Effect("Assign", weight, *builder_.Constant(Make(DType::kFloat32, {1, 2}, {3, 4})));
  const ValueId y = *Dense(builder_, "d", x, 1);
  const ValueId used = builder_.graph().nodes[Producer(y)].inputs[1];
  EXPECT_TRUE(builder_.graph().nodes[Producer(used)].controls.empty());
}

TEST_F(Layers, BatchNormHasRunningStatisticsThatAreNotTrained) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16}) {
    GraphBuilder builder(SystemAllocator(), registry_);
    graph::ValueType type = graph::ValueType::Tensor(dtype, {0, 3, 5});
    type.dims[0] = {.symbol = builder.AddSymbol("batch")};
    const ValueId x = *builder.AddInput("x", type);
    const Normalized trained = *BatchNorm(builder, "n", x, true, {});
    const Normalized used = *BatchNorm(builder, "n", x, false, {});
    std::string text;
    for (const graph::Variable& variable : builder.module().variables) {
      const auto initial =
          reference::FromTensor(builder.module().constants[variable.initial_constant]);
      text += Cat(variable.name, variable.trainable ? " trained " : " ", initial.dims, " ",
                  static_cast<double>(initial.data[2]), "; ");
      EXPECT_EQ(variable.dtype, dtype);
    }
    EXPECT_EQ(text,
              "n/scale trained [3] 1; n/bias trained [3] 0; n/mean [3] 0; n/variance [3] 1; ");
    EXPECT_EQ(builder.graph().values[trained.value].type, type);
    EXPECT_EQ(builder.graph().values[used.value].type, type);
    EXPECT_EQ(used.update, kNone);
    const graph::Node& update = builder.graph().nodes[trained.update];
    EXPECT_EQ(update.Int("variable", -1), 3);
    const graph::Node& before = builder.graph().nodes[update.controls.at(0)];
    EXPECT_EQ(before.Int("variable", -1), 2) << "one target keeps both";
    EXPECT_TRUE(builder.Finish().ok());
  }
}

TEST_F(Layers, WhatDoesNotFitIsTold) {
  const ValueId x = Input("x", {2, 6, 8, 8});
  EXPECT_EQ(MessageOf(Dense(builder_, "d", 99, 5)), "layer 'd': there is no value #99");
  EXPECT_EQ(MessageOf(Dense(builder_, "d", x, 0)), "layer 'd' needs at least one output, got 0");
  EXPECT_EQ(MessageOf(Conv2d(builder_, "c", x, 4, 0, {})),
            "layer 'c' needs a kernel of at least 1, got 0");
  EXPECT_EQ(MessageOf(Conv2d(builder_, "c", Input("flat", {2, 6}), 4, 3, {})),
            "layer 'c' takes [N, C, H, W] with a known C, got float32[2, 6]");
  const ValueId open = *builder_.AddInput("open", graph::ValueType::Unranked(DType::kFloat32));
  EXPECT_NE(MessageOf(Dense(builder_, "d", open, 5)).find("needs to know how many features"),
            std::string::npos);
  EXPECT_FALSE(Dense(builder_, "ints", Input("i", {2, 3}, DType::kInt64), 5).ok());
}

TEST_F(Layers, ARefusedLayerLeavesNothingBehind) {
  const ValueId x = Input("x", {2, 6, 8, 8});
  const ValueId first =
      *Conv2d(builder_, "first", x, 6, 3, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  const std::string before = Saved();
  // The convolution itself is refused when its variables are there.
  EXPECT_FALSE(Conv2d(builder_, "c", first, 4, 9, {}).ok());
  EXPECT_EQ(Saved(), before);
  EXPECT_FALSE(Dense(builder_, "ints", Input("i", {2, 3}, DType::kInt64), 5).ok());
  // The names are free, variables are read where they were, and the layer that fits is added.
  EXPECT_EQ(*builder_.Read(0), builder_.graph().nodes[Producer(first)].inputs[1]);
  const ValueId y = *Conv2d(builder_, "c", first, 4, 3, {});
  EXPECT_EQ(TypeOf(y), "float32[2, 4, 6, 6]");
  EXPECT_EQ(builder_.module().variables.back().name, "c/bias");
}

}  // namespace
}  // namespace hr::transform
