// Reads and writes of variables in a builder, also in one that goes on from a module.
#include <algorithm>

#include "tests/unit/transform/built_graph.h"

namespace hr::transform {
namespace {

class BuilderEffects : public BuiltGraph {
 protected:
  const std::vector<NodeId>& ControlsOf(NodeId node) {
    return builder_.graph().nodes[node].controls;
  }
  // The module with its nodes in the opposite order.
  static graph::Module Backwards(graph::Module module) {
    graph::Graph& main = module.main();
    const auto last = static_cast<NodeId>(main.nodes.size() - 1);
    std::reverse(main.nodes.begin(), main.nodes.end());
    for (graph::Node& node : main.nodes)
      for (NodeId& control : node.controls) control = last - control;
    for (graph::Value& value : main.values)
      if (value.producer != kNone) value.producer = last - value.producer;
    return module;
  }

  uint32_t w_ = Variable("w", {1, 2});
  ValueId x_ = Input("x", {2});
};

TEST_F(BuilderEffects, AReadAtTheStartIsOneForAll) {
  const ValueId start = *builder_.ReadAtStart(w_);
  EXPECT_EQ(*builder_.Read(w_), start);
  Effect("Assign", w_, x_);
  EXPECT_NE(*builder_.Read(w_), start);
  EXPECT_EQ(*builder_.ReadAtStart(w_), start);
}

TEST_F(BuilderEffects, AReadAtTheStartWaitsForNoWrite) {
  Effect("Assign", w_, x_);
  const NodeId read = Producer(*builder_.ReadAtStart(w_));
  EXPECT_TRUE(ControlsOf(read).empty());
  const NodeId second = Effect("Assign", w_, x_);
  EXPECT_EQ(ControlsOf(second).size(), 1u) << "it is of the start, whatever comes later";
}

TEST_F(BuilderEffects, AssignmentsAreNamedAndChained) {
  const NodeId first = *builder_.Assign("Assign", w_, x_);
  const NodeId second = *builder_.Assign("AssignAdd", w_, x_);
  EXPECT_EQ(builder_.graph().nodes[first].name, "w/assign");
  EXPECT_EQ(builder_.graph().nodes[second].name, "w/assign_1");
  EXPECT_EQ(ControlsOf(second), std::vector<NodeId>{first});
  const uint32_t v = Variable("v", {1, 2});
  EXPECT_EQ(ControlsOf(*builder_.Assign("Assign", v, x_, second)), std::vector<NodeId>{second});
  EXPECT_EQ(builder_.Assign("Assign", 9, x_).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(builder_.ReadAtStart(9).status().code(), Code::kInvalidArgument);
}

TEST_F(BuilderEffects, ANodeWaitsForNodesOfTheGraph) {
  auto node = builder_.AddNode({.op = "Relu", .inputs = {x_}, .controls = {7}});
  EXPECT_EQ(node.status().message(), "Relu runs after node #7, which is not of this graph");
}

// A file may list its nodes in any order.
TEST_F(BuilderEffects, GoOnFromTheEdgesOfAModule) {
  const ValueId start = *builder_.Read(w_);
  Effect("Assign", w_, x_);
  Effect("AssignAdd", w_, x_);
  const NodeId last = Effect("AssignAdd", w_, x_);
  const ValueId now = *builder_.Read(w_);
  const graph::Module module = *builder_.Finish();
  const auto count = static_cast<NodeId>(module.main().nodes.size());
  GraphBuilder forth(SystemAllocator(), registry_, module);
  EXPECT_EQ(*forth.Read(w_), now);
  EXPECT_EQ(*forth.ReadAtStart(w_), start);
  GraphBuilder back(SystemAllocator(), registry_, Backwards(module));
  EXPECT_EQ(*back.Read(w_), now);
  EXPECT_EQ(*back.ReadAtStart(w_), start);
  const NodeId next = *back.Assign("Assign", w_, x_);
  const auto& controls = back.graph().nodes[next].controls;
  EXPECT_EQ(std::count(controls.begin(), controls.end(), count - 1 - last), 1);
  EXPECT_EQ(controls.size(), 2u) << "the last write, and the read behind it";
}

// ---- Pruning ----

TEST_F(BuilderEffects, WhatIsPrunedOrdersNothing) {
  const ValueId start = *builder_.Read(w_);
  const NodeId write = Effect("Assign", w_, x_);
  ASSERT_TRUE(builder_.AddSignature({"write", {{"x", x_}}, {}, {write}}).ok());
  ASSERT_TRUE(builder_.AddSignature({"look", {}, {{"w", start}}, {}}).ok());
  builder_.SetDevice("TOY:0");
  EXPECT_EQ(builder_.RemoveSignature("writes").message(),
            "the graph has no signature 'writes'; did you mean 'write'?");
  ASSERT_TRUE(builder_.RemoveSignature("write").ok());
  EXPECT_NE(*builder_.Read(0), *builder_.ReadAtStart(0)) << "the write is there until Prune";
  builder_.Prune();
  EXPECT_EQ(builder_.graph().nodes.size(), 1u);
  EXPECT_TRUE(builder_.graph().inputs.empty());
  EXPECT_EQ(*builder_.Read(0), *builder_.ReadAtStart(0));
  EXPECT_EQ(builder_.SetDevice(""), "TOY:0");
  EXPECT_EQ(builder_.UniqueName("w/assign"), "w/assign") << "names of what is gone are free";
  EXPECT_TRUE(builder_.Finish().ok());
}

TEST_F(BuilderEffects, VariablesAreFrozenAndThawed) {
  ASSERT_TRUE(builder_.SetTrainable(w_, false).ok());
  EXPECT_FALSE(builder_.module().variables[w_].trainable);
  ASSERT_TRUE(builder_.SetTrainable(w_, true).ok());
  EXPECT_TRUE(builder_.module().variables[w_].trainable);
  EXPECT_EQ(builder_.SetTrainable(9, true).message(), "variable 9 does not exist; there are 1");
}

}  // namespace
}  // namespace hr::transform
