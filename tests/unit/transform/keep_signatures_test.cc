#include "runtime/transform/keep_signatures.h"

#include "tests/unit/transform/built_graph.h"

namespace hr::transform {
namespace {

// Two signatures over two inputs, three variables and constants of their own: "small" reads b and
// changes c, "large" reads and changes a.
class KeepSignaturesTest : public BuiltGraph {
 protected:
  void SetUp() override {
    const ValueId x = Input("x", {2}), y = Input("y", {2}, DType::kFloat64);
    const uint32_t a = Variable("a", {1, 2}, DType::kFloat64);
    const uint32_t b = Variable("b", {3, 4});
    const uint32_t c = *builder_.AddVariable(
        "c", DType::kFloat32, {2}, false,
        {.op = "RandomUniform", .attributes = {{"shape", std::vector<int64_t>{2}}}});
    const ValueId large = Node("Mul", {y, Constant({5, 6}, DType::kFloat64)});
    const NodeId grow = Effect("AssignAdd", a, Node("Sub", {large, *builder_.Read(a)}));
    const ValueId small = Node("Add", {Node("Mul", {x, Constant({7, 8})}), *builder_.Read(b)});
    const NodeId set = Effect("Assign", c, small);
    const NodeId add = Effect("AssignAdd", c, x);
    Add({.name = "large",
         .inputs = {{"y", y}},
         .outputs = {{"product", large}},
         .targets = {grow}});
    Add({.name = "small", .inputs = {{"x", x}}, .outputs = {{"sum", small}}, .targets = {add}});
    Add({.name = "passing", .inputs = {{"x", x}}, .outputs = {{"same", x}}});
    set_name_ = builder_.graph().nodes[set].name;
    builder_.SetMetadata("author", "a test");
    module_ = builder_.Finish().value();
  }
  void Add(graph::Signature signature) {
    ASSERT_TRUE(builder_.AddSignature(std::move(signature)).ok());
  }
  graph::Module Keep(std::vector<std::string> names) {
    auto kept = KeepSignatures(registry_, module_, names);
    EXPECT_TRUE(kept.ok()) << kept.status().ToString();
    EXPECT_TRUE(graph::Verify(*kept).ok() && ops::CheckModule(registry_, *kept).ok());
    return std::move(kept).value();
  }
  static Values Outcome(const graph::Module& module, std::string_view signature, DType dtype) {
    const graph::Signature& run = *module.FindSignature(signature);
    reference::Array fed(dtype, {2});
    fed.data = {10, 20};
    reference::Evaluator evaluator(module);
    auto results =
        evaluator.Run({{run.inputs[0].value, fed}}, std::vector{run.outputs[0].value}, run.targets);
    EXPECT_TRUE(results.ok()) << results.status().ToString();
    Values out((*results)[0].data.begin(), (*results)[0].data.end());
    for (const auto& variable : evaluator.variables())
      out.insert(out.end(), variable.data.begin(), variable.data.end());
    return out;
  }

  graph::Module module_;
  std::string set_name_;
};

TEST_F(KeepSignaturesTest, WhatOneNeedsAloneIsLeft) {
  const graph::Module small = Keep({"small"});
  EXPECT_EQ(small.signatures.size(), 1u);
  ASSERT_EQ(small.variables.size(), 2u);
  EXPECT_EQ(small.FindVariable("a"), kNone);
  EXPECT_EQ(small.main().inputs.size(), 1u);
  EXPECT_EQ(small.main().values[small.main().inputs[0]].name, "x");
  EXPECT_EQ(small.main().nodes.size(), 5u);
  EXPECT_EQ(small.constants.size(), 2u);  // {7, 8}, and what b starts as
  EXPECT_EQ(small.metadata.at("author"), "a test");
  const graph::Module large = Keep({"large"});
  EXPECT_EQ(large.variables.size(), 1u);
  EXPECT_EQ(large.main().nodes.size(), 4u);
  EXPECT_EQ(large.constants.size(), 2u);
}

// The target waits for an effect that is no target.
TEST_F(KeepSignaturesTest, EffectsThatOthersWaitForStay) {
  const graph::Module small = Keep({"small"});
  EXPECT_EQ(CountOf(small, "Assign"), 1u);
  const graph::Node& target = small.main().nodes[small.signatures[0].targets[0]];
  ASSERT_EQ(target.controls.size(), 1u);
  EXPECT_EQ(small.main().nodes[target.controls[0]].name, set_name_);
}

TEST_F(KeepSignaturesTest, OutputsKeepNamesAndTypes) {
  for (const auto& [name, output, dtype] : {std::tuple("small", "sum", DType::kFloat32),
                                            std::tuple("large", "product", DType::kFloat64)}) {
    const graph::Module kept = Keep({name});
    ASSERT_EQ(kept.signatures[0].outputs.size(), 1u);
    const graph::Port& port = kept.signatures[0].outputs[0];
    EXPECT_EQ(port.name, output);
    EXPECT_EQ(kept.main().values[port.value].type, graph::ValueType::Tensor(dtype, {2}));
  }
}

// b and c have other numbers than before; so have the constants.
TEST_F(KeepSignaturesTest, TheRestComputesWhatItDid) {
  const Values small = Outcome(Keep({"small"}), "small", DType::kFloat32);
  EXPECT_EQ(small, (Values{73, 164, 3, 4, 83, 184}));
  EXPECT_EQ(Outcome(Keep({"large"}), "large", DType::kFloat64), (Values{50, 120, 50, 120}));
  const Values all = Outcome(module_, "small", DType::kFloat32);
  EXPECT_EQ(Values(small.begin(), small.begin() + 2), Values(all.begin(), all.begin() + 2));
}

TEST_F(KeepSignaturesTest, AllOfThemAreTheModuleInTheOrderAskedFor) {
  const graph::Module kept = Keep({"passing", "small", "large"});
  EXPECT_EQ(kept.signatures[0].name, "passing");
  EXPECT_EQ(kept.main().nodes.size(), module_.main().nodes.size());
  EXPECT_EQ(kept.constants.size(), module_.constants.size());
  EXPECT_EQ(kept.variables.size(), 3u);
  EXPECT_EQ(Outcome(kept, "large", DType::kFloat64).size(), 8u);
}

TEST_F(KeepSignaturesTest, AnInputThatIsTheOutputStays) {
  const graph::Module kept = Keep({"passing"});
  EXPECT_TRUE(kept.main().nodes.empty() && kept.variables.empty() && kept.constants.empty());
  EXPECT_EQ(kept.main().values.size(), 1u);
  EXPECT_EQ(kept.signatures[0].outputs[0].value, kept.signatures[0].inputs[0].value);
}

TEST_F(KeepSignaturesTest, InitializersStay) {
  const graph::Module small = Keep({"small"});
  const graph::Variable& c = small.variables[small.FindVariable("c")];
  ASSERT_NE(c.initial_graph, kNone);
  const graph::Graph& body = small.graphs[c.initial_graph];
  EXPECT_EQ(small.OperatorOf(body.nodes[0]).name, "RandomUniform");
}

TEST_F(KeepSignaturesTest, InitializersOfWhatIsGoneGoToo) {
  EXPECT_EQ(module_.graphs.size(), 2u);
  EXPECT_EQ(Keep({"small"}).graphs.size(), 2u);
  EXPECT_EQ(Keep({"large"}).graphs.size(), 1u);
}

// Bodies of control flow are no initializers, and their constants are among those of the module.
TEST_F(KeepSignaturesTest, BodiesOfNodesStay) {
  graph::Module module = module_;
  module.graphs.resize(4);
  module.graphs[3].values = {
      {.type = graph::ValueType::Tensor(DType::kFloat32, {2}), .constant = 0, .name = "inside"}};
  NodeId target = module.FindSignature("large")->targets[0];
  module.main().nodes[target].attributes.push_back({"body", graph::GraphIndex{3}});
  const graph::Module large = *KeepSignatures(registry_, module, std::vector<std::string>{"large"});
  ASSERT_EQ(large.graphs.size(), 2u);
  const graph::Value& inside = large.graphs[1].values.at(0);
  EXPECT_EQ(inside.name, "inside");
  EXPECT_EQ(large.constants.at(inside.constant).data(), module.constants[0].data());
  target = large.signatures[0].targets[0];
  EXPECT_EQ(*large.main().nodes[target].Find("body"), graph::AttributeValue(graph::GraphIndex{1}));
}

TEST_F(KeepSignaturesTest, UnknownNamesAreRefused) {
  const std::vector<std::string> names = {"small", "tiny"};
  const Status status = KeepSignatures(registry_, module_, names).status().Clone();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_EQ(status.message(),
            "the model has no signature 'tiny'; there are: large, small, passing");
}

}  // namespace
}  // namespace hr::transform
