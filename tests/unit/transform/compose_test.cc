#include "runtime/transform/compose.h"

#include <cmath>

#include "runtime/format/reader.h"
#include "runtime/transform/gradients.h"
#include "tests/unit/transform/built_graph.h"

namespace hr::transform {
namespace {

class ComposeTest : public BuiltGraph {
 protected:
  graph::Module MustCompose() {
    auto module = Composed(SystemAllocator(), registry_, builder_.module());
    EXPECT_TRUE(module.ok()) << module.status().ToString();
    return module.ok() ? std::move(module).value() : graph::Module();
  }
  std::vector<reference::Array> Run(const graph::Module& module,
                                    std::map<ValueId, reference::Array> feeds,
                                    std::vector<ValueId> fetches) {
    auto results = reference::Evaluator(module).Run(feeds, fetches);
    EXPECT_TRUE(results.ok()) << results.status().ToString();
    return results.ok() ? std::move(results).value() : std::vector<reference::Array>();
  }
  static reference::Array Vector(const Values& values, DType dtype = DType::kFloat32) {
    reference::Array array(dtype, {static_cast<int64_t>(values.size())});
    array.data.assign(values.begin(), values.end());
    return array;
  }
};

TEST_F(ComposeTest, LeavesOtherNodesAlone) {
  const ValueId x = Input("x", {4});
  Node("Tanh", {x});
  EXPECT_FALSE(HasComposed(registry_, builder_.module()));
  EXPECT_EQ(format::WriteModuleToString(MustCompose()).value(), Saved());
}

// Nodes and values keep their numbers and names; what is new follows them, in the node's scope.
TEST_F(ComposeTest, NumbersAndNamesStay) {
  const ValueId x = Input("x", {4});
  const ValueId before = Node("Tanh", {x});
  const NodeId node = AddNode({.op = "Swish", .inputs = {before}, .name = "block/act"});
  ASSERT_TRUE(builder_.RenameValue(Output(node), "activation").ok());
  const ValueId after = Node("Neg", {Output(node)});
  ASSERT_TRUE(builder_
                  .AddSignature({.name = "run",
                                 .inputs = {{"x", x}},
                                 .outputs = {{"y", after}, {"act", Output(node)}}})
                  .ok());
  EXPECT_TRUE(HasComposed(registry_, builder_.module()));
  const graph::Module module = MustCompose();
  EXPECT_FALSE(HasComposed(registry_, module));
  const graph::Graph &was = builder_.graph(), &is = module.main();
  for (ValueId id = 0; id < was.values.size(); ++id) {
    EXPECT_EQ(is.values[id].name, was.values[id].name);
    EXPECT_EQ(is.values[id].producer, was.values[id].producer);
    EXPECT_EQ(is.values[id].type, was.values[id].type);
  }
  for (NodeId id = 0; id < was.nodes.size(); ++id) {
    EXPECT_EQ(is.nodes[id].name, was.nodes[id].name);
    EXPECT_EQ(is.nodes[id].outputs, was.nodes[id].outputs);
    EXPECT_EQ(module.OperatorOf(is.nodes[id]).name,
              id == node ? "Identity" : builder_.module().OperatorOf(was.nodes[id]).name);
  }
  for (NodeId id = static_cast<NodeId>(was.nodes.size()); id < is.nodes.size(); ++id) {
    EXPECT_EQ(is.nodes[id].name.rfind("block/act/", 0), 0u) << is.nodes[id].name;
  }
  EXPECT_EQ(graph::Verify(module, true).ToString(), "OK");
  const auto results = Run(module, {{x, Vector({-1, 0, 0.5, 2})}}, {Output(node), after});
  for (size_t i = 0; i < 4; ++i) {
    const reference::Number t = std::tanh(Vector({-1, 0, 0.5, 2}).data[i]);
    EXPECT_NEAR(static_cast<double>(results[0].data[i]),
                static_cast<double>(t / (1 + std::exp(-t))), 1e-15);
    EXPECT_EQ(results[1].data[i], -results[0].data[i]);
  }
}

// A composition is a matter of running: the graph, and so its file, have the operator itself.
TEST_F(ComposeTest, FilesKeepTheOperator) {
  const ValueId y = Node("Swish", {Input("x", {4})}, {{"alpha", 1.5}});
  EXPECT_NE(Saved().find("Swish"), std::string::npos);
  EXPECT_EQ(Saved().find("Sigmoid"), std::string::npos);
  const std::string before = Saved();
  MustCompose();
  EXPECT_EQ(Saved(), before);
  // Nor do gradients replace it.
  ASSERT_TRUE(
      AddGradients(builder_, std::span(&y, 1), std::span(&builder_.graph().inputs[0], 1)).ok());
  EXPECT_EQ(CountOf(builder_.module(), "Swish"), 1u);
}

// GroupNormalization 18 is composed of that of today; Hardmax 1 of Hardmax 13, which is composed.
TEST_F(ComposeTest, CompositionsOfComposedOperators) {
  const ValueId x = Input("x", {2, 3});
  const NodeId node =
      AddNode({.op = "Hardmax", .version = 1, .inputs = {x}, .attributes = {{"axis", int64_t{0}}}});
  const graph::Module module = MustCompose();
  EXPECT_FALSE(HasComposed(registry_, module));
  EXPECT_EQ(CountOf(module, "Hardmax"), 0u);
  EXPECT_EQ(CountOf(module, "ArgMax"), 1u);
  reference::Array input(DType::kFloat32, {2, 3});
  input.data = {1, 5, 2, 3, 9, 9};
  EXPECT_EQ(Run(module, {{x, input}}, {Output(node)})[0].data,
            (std::vector<reference::Number>{0, 0, 0, 0, 1, 0}));
}

TEST_F(ComposeTest, CompositionsGoWhereTheirNodeIs) {
  const ValueId x = Input("x", {4});
  AddNode({.op = "Swish", .inputs = {x}, .device = "TOY:1"});
  AddNode({.op = "Shrink", .inputs = {x}});
  const graph::Module module = MustCompose();
  for (const graph::Node& node : module.main().nodes) {
    const std::string& op = module.OperatorOf(node).name;
    const bool of_swish = op == "Sigmoid" || op == "Mul";
    EXPECT_TRUE(node.device == "TOY:1" || !of_swish) << op;
    EXPECT_TRUE(node.device.empty() || op != "Where");
  }
}

// Outputs that the node does not have are not asked for, and those in between are counted right.
TEST_F(ComposeTest, UnwantedOutputs) {
  const ValueId q = Input("q", {1, 2, 3, 4});
  const NodeId all = AddNode({.op = "Attention", .inputs = {q, q, q}, .outputs = 4});
  const NodeId first = AddNode({.op = "Attention", .inputs = {q, q, q}});
  graph::Module module = builder_.module();
  module.main().nodes[all].outputs[1] = kNone;
  module.main().nodes[all].outputs[2] = kNone;
  auto composed = Composed(SystemAllocator(), registry_, module);
  ASSERT_TRUE(composed.ok()) << composed.status().ToString();
  reference::Array input(DType::kFloat32, {1, 2, 3, 4});
  for (size_t i = 0; i < input.size(); ++i) input.data[i] = std::sin(static_cast<double>(i));
  const auto results = Run(*composed, {{q, input}}, {Output(all), Output(all, 3), Output(first)});
  EXPECT_EQ(results[0].dims, (Dims{1, 2, 3, 4}));
  EXPECT_EQ(results[1].dims, (Dims{1, 2, 3, 3}));
  EXPECT_EQ(results[0].data, results[2].data);
}

// An input that is given twice gets the gradients of both places, and each of them once.
TEST_F(ComposeTest, GradientsFlowToEachInputOnce) {
  const ValueId x = Input("x", {3}, DType::kFloat64);
  const ValueId once = Node("Swish", {x});
  const ValueId y = Node("Mul", {once, x});
  auto grads = AddGradients(builder_, std::span(&y, 1), std::span(&x, 1));
  ASSERT_TRUE(grads.ok());
  const reference::Array input = Vector({-1, 0.5, 2}, DType::kFloat64);
  const auto results = Run(MustCompose(), {{x, input}}, {(*grads)[0]});
  for (size_t i = 0; i < 3; ++i) {  // of x² s(x)
    const reference::Number v = input.data[i], s = 1 / (1 + std::exp(-v));
    EXPECT_NEAR(static_cast<double>(results[0].data[i]),
                static_cast<double>(2 * v * s + v * v * s * (1 - s)), 1e-15);
  }
}

// Gradients do not flow around the node into what its composition shares with others.
TEST_F(ComposeTest, InputsGivenTwice) {
  const ValueId x = Input("x", {1, 1, 2, 2}, DType::kFloat64);
  const ValueId y = Node("Attention", {x, x, x});
  const ValueId apart[] = {Node("Identity", {x}), Node("Identity", {x}), Node("Identity", {x})};
  const ValueId z = Node("Attention", {apart[0], apart[1], apart[2]});
  auto together = AddGradients(builder_, std::span(&y, 1), std::span(&x, 1));
  auto separate = AddGradients(builder_, std::span(&z, 1), apart);
  ASSERT_TRUE(together.ok() && separate.ok());
  reference::Array input(DType::kFloat64, {1, 1, 2, 2});
  input.data = {1, -0.5, 0.25, 2};
  std::vector<ValueId> fetches = *separate;
  fetches.push_back((*together)[0]);
  const auto results = Run(MustCompose(), {{x, input}}, fetches);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(static_cast<double>(results[3].data[i]),
                static_cast<double>(results[0].data[i] + results[1].data[i] + results[2].data[i]),
                1e-15);
  }
}

// Normalizations of what does not vary are 0, and so are their gradients.
TEST_F(ComposeTest, GradientsOfNoSpread) {
  const ValueId x = Input("x", {4}, DType::kFloat64);
  const ValueId ys[] = {Node("MeanVarianceNormalization", {x}, {{"axes", std::vector<int64_t>{0}}}),
                        Node("LpNormalization", {Node("Sub", {x, x})})};
  for (const ValueId y : ys) {
    auto grads = AddGradients(builder_, std::span(&y, 1), std::span(&x, 1));
    ASSERT_TRUE(grads.ok());
    const auto results =
        Run(MustCompose(), {{x, Vector({2, 2, 2, 2}, DType::kFloat64)}}, {y, (*grads)[0]});
    EXPECT_EQ(results[0].data, std::vector<reference::Number>(4, 0));
    EXPECT_EQ(results[1].data, std::vector<reference::Number>(4, 0));
  }
}

TEST_F(ComposeTest, FailuresNameTheNode) {
  const ValueId x = *builder_.AddInput("x", {.dtype = DType::kFloat32});
  AddNode({.op = "Hardmax", .inputs = {x}, .name = "pick"});
  EXPECT_EQ(Composed(SystemAllocator(), registry_, builder_.module()).status().ToString(),
            "FAILED_PRECONDITION: needs to know the rank of x (node 'pick')");
}

}  // namespace
}  // namespace hr::transform
