#include "runtime/lowering/widen.h"

#include "backends/cpu/lowering/target.h"
#include "tests/unit/transform/built_graph.h"

namespace hr::lowering {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

class WidenTest : public transform::BuiltGraph {
 protected:
  graph::Module MustWiden() {
    auto module = Widened(target_, builder_.module());
    EXPECT_TRUE(module.has_value());
    return module ? *std::move(module) : graph::Module();
  }
  static DType TypeOf(const graph::Module& module, ValueId value) {
    return module.main().values[value].type.dtype;
  }

  const std::shared_ptr<const Target> made_ = cpu::CpuTarget();
  const Target& target_ = *made_;
};

TEST_F(WidenTest, NothingToDo) {
  Node("Softmax", {Input("x", {4})});
  Node("Neg", {Input("y", {4}, DType::kFloat16)});
  EXPECT_FALSE(Widened(target_, builder_.module()).has_value());
}

// Values and nodes keep their numbers and types; only what nodes take and give is redirected.
TEST_F(WidenTest, NumbersStay) {
  const ValueId x = Input("x", {4}, DType::kFloat16);
  const ValueId y = Node("Softmax", {x}), z = Node("Neg", {y});
  const graph::Module module = MustWiden();
  const graph::Graph &was = builder_.graph(), &is = module.main();
  for (ValueId id = 0; id < was.values.size(); ++id) {
    EXPECT_EQ(is.values[id].type, was.values[id].type);
    EXPECT_EQ(is.values[id].name, was.values[id].name);
  }
  const graph::Node& softmax = is.nodes[Producer(y)];
  EXPECT_EQ(module.OperatorOf(softmax).name, "Softmax");
  EXPECT_EQ(TypeOf(module, softmax.inputs[0]), DType::kFloat32);
  EXPECT_EQ(TypeOf(module, softmax.outputs[0]), DType::kFloat32);
  EXPECT_EQ(is.nodes[Producer(z)].inputs[0], y);
  EXPECT_EQ(module.OperatorOf(is.nodes[is.values[y].producer]).name, "Cast");
  EXPECT_EQ(is.values[softmax.outputs[0]].producer, Producer(y));
  EXPECT_EQ(transform::CountOf(module, "Cast"), 2u);
  EXPECT_EQ(graph::Verify(module, true).ToString(), "OK");
}

TEST_F(WidenTest, EachValueOnce) {
  const ValueId x = Input("x", {4, 4}, DType::kFloat16);
  Node("Softmax", {x});
  Node("MatMul", {x, x});
  const graph::Module module = MustWiden();
  // x once, and each result.
  EXPECT_EQ(transform::CountOf(module, "Cast"), 3u);
  const graph::Node& product = module.main().nodes[1];
  EXPECT_EQ(product.inputs[0], product.inputs[1]);
  EXPECT_EQ(product.inputs[0], module.main().nodes[0].inputs[0]);
}

TEST_F(WidenTest, AllOutputs) {
  const ValueId x = Input("x", {2, 4}, DType::kFloat16), scale = Input("s", {4}, DType::kFloat16);
  const NodeId node = AddNode({.domain = "headrace.grad",
                               .op = "GroupNormalizationGrad",
                               .inputs = {x, x, scale},
                               .outputs = 3,
                               .attributes = {{"num_groups", int64_t{2}}}});
  const graph::Module module = MustWiden();
  for (size_t i : {0, 1, 2}) {
    const ValueId wide = module.main().nodes[node].outputs[i];
    EXPECT_EQ(TypeOf(module, wide), DType::kFloat32);
    EXPECT_EQ(module.main().values[wide].producer, node);
    EXPECT_EQ(module.main().values[wide].type.dims,
              module.main().values[Output(node, i)].type.dims);
    EXPECT_EQ(TypeOf(module, Output(node, i)), DType::kFloat16);
    EXPECT_NE(module.main().values[Output(node, i)].producer, node);
  }
}

// Chains stay rounded between their nodes, as if each had a kernel of 16 bits.
TEST_F(WidenTest, ChainsRoundInBetween) {
  const ValueId x = Input("x", {3}, DType::kFloat16);
  const ValueId y = Node("Softmax", {Node("Softmax", {x})});
  const graph::Module module = MustWiden();
  EXPECT_EQ(transform::CountOf(module, "Cast"), 4u);
  reference::Array input(DType::kFloat16, {3});
  input.data = {-1, 0.25, 3};
  const auto wide = reference::Evaluator(module).Run({{x, input}}, std::span(&y, 1));
  const auto plain = reference::Evaluator(builder_.module()).Run({{x, input}}, std::span(&y, 1));
  ASSERT_TRUE(wide.ok() && plain.ok());
  EXPECT_EQ((*wide)[0].dtype, DType::kFloat16);
  EXPECT_EQ((*wide)[0].data, (*plain)[0].data);
}

// What is left out stays so, and integers are no numbers of 16 bits.
TEST_F(WidenTest, OmittedOperandsAndIndices) {
  const NodeId pool = AddNode({.op = "MaxPool",
                               .inputs = {Input("x", {1, 1, 4}, DType::kFloat16)},
                               .outputs = 2,
                               .attributes = {{"kernel_shape", std::vector<int64_t>{2}}}});
  graph::Module given = builder_.module();
  const ValueId indices = Output(pool, 1);
  const auto whole = Widened(target_, given);
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->main().nodes[pool].outputs[1], indices);
  EXPECT_EQ(transform::CountOf(*whole, "Cast"), 2u);
  given.main().nodes[pool].outputs[1] = kNone;
  given.main().nodes[pool].inputs.push_back(kNone);
  const auto module = Widened(target_, given);
  ASSERT_TRUE(module.has_value());
  EXPECT_EQ(module->main().nodes[pool].outputs[1], kNone);
  EXPECT_EQ(module->main().nodes[pool].inputs[1], kNone);
}

}  // namespace
}  // namespace hr::lowering
