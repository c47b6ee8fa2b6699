// The nodes that a training step gets for many processes; what comes out of them is
// tests/capi/mirrored_test.c's.
#include "runtime/transform/mirror.h"

#include <algorithm>

#include "runtime/graph/fingerprint.h"
#include "runtime/transform/body_scope.h"
#include "runtime/transform/layers.h"
#include "runtime/transform/minimize.h"
#include "runtime/transform/redivide.h"
#include "tests/unit/transform/built_graph.h"

namespace hr::transform {
namespace {

class MirrorTest : public BuiltGraph {
 protected:
  // A loss of variables a [2], b [3] and c [4] and of the input x [batch], which goes through the
  // operator `first` if there is one.
  void Build(std::string_view optimizer, bool fixed = false, const std::string& first = "") {
    ValueId x = fixed ? Input("x", {2}) : OpenInput();
    builder_.SignatureNamed("train").inputs.push_back({"x", x});
    if (!first.empty()) x = first_ = Node(first, {x});
    ValueId sum = Node("ReduceMean", {x}, {{"keepdims", int64_t{0}}});
    for (const auto& [name, size] : {std::pair("a", 2), std::pair("b", 3), std::pair("c", 4)}) {
      const uint32_t variable = Variable(name, Values(static_cast<size_t>(size), 1));
      const ValueId now = *builder_.Read(variable);
      const ValueId square = Node("Mul", {now, now});
      sum = Node("Mul", {sum, Node("ReduceSum", {square}, {{"keepdims", int64_t{0}}})});
    }
    builder_.SignatureNamed("train").outputs.push_back({"loss", sum});
    loss_ = sum;
    const Status status = Minimize(builder_, "train", sum, optimizer, Input("rate", {}));
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  ValueId OpenInput() {
    graph::ValueType type{.dtype = DType::kFloat32, .ranked = true};
    type.dims = {{.symbol = builder_.AddSymbol("batch")}};
    return *builder_.AddInput("x", type);
  }
  Status MirrorAs(const MirrorOptions& options) { return Mirror(builder_, "train", "g", options); }
  std::vector<const graph::Node*> Operations() const {
    std::vector<const graph::Node*> out;
    for (const graph::Node& node : builder_.graph().nodes) {
      if (builder_.module().OperatorOf(node).domain == ops::kComm) out.push_back(&node);
    }
    return out;
  }
  // The operator that makes a value.
  std::string MadeBy(ValueId value) const {
    const NodeId producer = builder_.graph().values[value].producer;
    if (producer == kNone) return "";
    return builder_.module().OperatorOf(builder_.graph().nodes[producer]).name;
  }
  const graph::Node& Update(size_t i) {
    return builder_.graph().nodes[builder_.SignatureNamed("train").targets[i]];
  }

  ValueId loss_ = kNone;
  ValueId first_ = kNone;
};

TEST_F(MirrorTest, GradientsTravelInTheOrderInWhichTheyAreComputed) {
  Build("sgd");
  ASSERT_TRUE(MirrorAs({.first_bucket = 1, .bucket = 1}).ok());
  const auto operations = Operations();
  ASSERT_EQ(operations.size(), 4u) << "the loss with the examples, and three gradients";
  std::vector<ValueId> gradients;
  for (size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(operations[i]->inputs.size(), 2u) << "the gradient and the weight";
    EXPECT_EQ(operations[i]->Int("weighted", 0), 1);
    EXPECT_EQ(operations[i]->controls.size(), 1u) << "all have one order";
    gradients.push_back(operations[i]->inputs[0]);
  }
  EXPECT_TRUE(std::is_sorted(gradients.begin(), gradients.end()));
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(MadeBy(Update(i).inputs[1]), "AllReduce");
  EXPECT_TRUE(builder_.Finish().ok());
}

TEST_F(MirrorTest, ABucketIsFullWithItsBytes) {
  Build("sgd");
  ASSERT_TRUE(MirrorAs({.first_bucket = 1, .bucket = 16}).ok());
  const auto operations = Operations();
  ASSERT_EQ(operations.size(), 3u);
  EXPECT_EQ(operations[1]->outputs.size(), 1u);
  EXPECT_EQ(operations[2]->outputs.size(), 2u);
}

TEST_F(MirrorTest, RanksCountAlikeIfSizesAreFixed) {
  Build("sgd", true);
  ASSERT_TRUE(MirrorAs({}).ok());
  for (const graph::Node* operation : Operations()) {
    EXPECT_EQ(operation->String("op", ""), "average");
    EXPECT_EQ(operation->Int("weighted", 0), 0);
  }
}

TEST_F(MirrorTest, MeansAreTakenBeforeGradientsAreClipped) {
  Build("sgd clip_global_norm=1");
  ASSERT_TRUE(MirrorAs({}).ok());
  for (const graph::Node& node : builder_.graph().nodes) {
    const std::string& op = builder_.module().OperatorOf(node).name;
    if (op == "Gradient") {
      EXPECT_EQ(MadeBy(node.inputs[0]), "AllReduce");
    } else if (op == "SGD") {
      EXPECT_NE(MadeBy(node.inputs[1]), "AllReduce");
    }
  }
}

TEST_F(MirrorTest, NarrowGradientsAreWidenedAgain) {
  Build("sgd");
  ASSERT_TRUE(MirrorAs({.bf16 = true}).ok());
  const auto operations = Operations();
  ASSERT_EQ(operations.size(), 2u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(builder_.graph().values[operations[1]->inputs[i]].type.dtype, DType::kBfloat16);
    EXPECT_EQ(builder_.graph().values[Update(i).inputs[1]].type.dtype, DType::kFloat32);
  }
}

TEST_F(MirrorTest, RandomNodesOfExamplesGetTheirPlace) {
  Build("sgd", false, "RandomUniformLike");
  // Not of examples: all ranks draw the same.
  const ValueId shared = Node("RandomUniform", {}, {{"shape", std::vector<int64_t>{2}}});
  builder_.SignatureNamed("train").outputs.push_back({"shared", shared});
  ASSERT_TRUE(MirrorAs({}).ok());
  EXPECT_EQ(Operations()[0]->inputs.size(), 1u);
  EXPECT_EQ(MadeBy(Operations()[0]->outputs[0]), "Exscan");
  EXPECT_EQ(builder_.graph().nodes[Producer(first_)].inputs.size(), 2u);
  EXPECT_TRUE(builder_.graph().nodes[Producer(shared)].inputs.empty());
  EXPECT_TRUE(builder_.Finish().ok());
}

TEST_F(MirrorTest, RandomNodesOfFixedSizesFollowTheRank) {
  Build("sgd", true, "RandomNormalLike");
  ASSERT_TRUE(MirrorAs({}).ok());
  EXPECT_EQ(builder_.graph().nodes[Producer(first_)].inputs.size(), 2u);
}

TEST_F(MirrorTest, OtherSignaturesKeepWhatCommunicatesNot) {
  Build("sgd", false, "Bernoulli");
  builder_.SignatureNamed("eval").outputs.push_back({"first", first_});
  ASSERT_TRUE(MirrorAs({}).ok());
  const ValueId kept = builder_.SignatureNamed("eval").outputs[0].value;
  EXPECT_NE(kept, first_);
  EXPECT_EQ(builder_.graph().nodes[Producer(kept)].inputs.size(), 1u);
  EXPECT_TRUE(builder_.Finish().ok());
}

TEST_F(MirrorTest, BatchesAreNormalizedTogetherIfAsked) {
  const ValueId x = Input("images", {2, 3, 4, 4});
  const auto layer = BatchNorm(builder_, "norm", x, true, {});
  ASSERT_TRUE(layer.ok()) << layer.status().ToString();
  builder_.SignatureNamed("train").targets.push_back(layer->update);
  builder_.SignatureNamed("train").outputs.push_back({"normal", layer->value});
  Build("sgd");
  ASSERT_TRUE(MirrorAs({.sync_batch_norm = true}).ok());
  EXPECT_EQ(MadeBy(layer->value), "Identity");
  // Its count of values is that of all ranks.
  for (const graph::Node& node : builder_.graph().nodes) {
    const bool local = builder_.module().OperatorOf(node).name == "Div" &&
                       MadeBy(node.inputs[0]) == "Size" && MadeBy(node.inputs[1]) == "Size";
    EXPECT_FALSE(local);
  }
  EXPECT_TRUE(builder_.Finish().ok());
}

TEST_F(MirrorTest, StateIsDividedIfAsked) {
  Build("adam clip_global_norm=1");
  ASSERT_TRUE(MirrorAs({.zero = true, .ranks = 2}).ok());
  const graph::Module& module = builder_.module();
  const auto dims = [&](std::string_view name) {
    return module.variables[module.FindVariable(name)].dims;
  };
  EXPECT_EQ(dims("a/adam_m"), Dims{1});
  EXPECT_EQ(dims("b/adam_v"), Dims{2});
  EXPECT_EQ(dims("b"), Dims{3});
  EXPECT_EQ(module.metadata.at("headrace.shard.b/adam_m"), "g\n2\n3");
  EXPECT_EQ(module.metadata.at("headrace.shard.b/shard"), "g\n2\ncopy");
  std::vector<std::string> names;
  for (const graph::Node* node : Operations()) names.push_back(module.OperatorOf(*node).name);
  for (const char* name : {"ReduceScatter", "AllGather"}) {
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  }
  EXPECT_EQ(std::count(names.begin(), names.end(), "AllReduce"), 2) << "the loss and the norm";
  EXPECT_TRUE(builder_.Finish().ok());
}

// It is the graph that is made for that number, which ranks compare when they meet.
TEST_F(MirrorTest, ADividedGraphBecomesOneForAnotherNumberOfRanks) {
  for (const char* optimizer : {"adam clip_global_norm=1", "sgd momentum=0.9 accumulate=2"}) {
    const auto made_for = [&](int64_t ranks) {
      builder_ = GraphBuilder(SystemAllocator(), registry_);
      Build(optimizer);
      EXPECT_TRUE(MirrorAs({.bucket = 8, .zero = true, .ranks = ranks}).ok());
      return builder_.Finish().value();
    };
    const graph::Module two = made_for(2);
    for (int64_t ranks : {1, 2, 3, 5}) {
      const auto divided = Redivided(SystemAllocator(), registry_, two, "g", ranks);
      ASSERT_TRUE(divided.ok()) << divided.status().ToString();
      const graph::Module made = made_for(ranks);
      EXPECT_EQ(graph::Fingerprint(*divided), graph::Fingerprint(made)) << optimizer << ranks;
      EXPECT_EQ(divided->metadata, made.metadata);
      for (const graph::Variable& variable : divided->variables) {
        const Tensor& initial = divided->constants[variable.initial_constant];
        EXPECT_EQ(initial.dims(), variable.dims) << variable.name;
      }
    }
  }
}

TEST_F(MirrorTest, AGraphWithOtherNodesForItsRanksIsNotDividedAgain) {
  Build("adam");
  ASSERT_TRUE(MirrorAs({.zero = true, .ranks = 2}).ok());
  const ValueId all =
      Output(AddNode({.domain = std::string(ops::kComm),
                      .op = "AllGather",
                      .inputs = {Input("own", {3})},
                      .attributes = {{"group", std::string("g")}, {"ranks", int64_t{2}}}}));
  builder_.SignatureNamed("other").outputs.push_back({"all", all});
  const auto divided = Redivided(SystemAllocator(), registry_, builder_.Finish().value(), "g", 3);
  EXPECT_EQ(divided.status().code(), Code::kInvalidArgument);
  EXPECT_NE(divided.status().ToString().find("among 3 ranks"), std::string::npos);
}

TEST_F(MirrorTest, AFailureUnderWayLeavesTheGraphAsItWas) {
  Build("lamb accumulate=2");
  const std::string before = Saved();
  EXPECT_EQ(MirrorAs({.zero = true, .ranks = 2}).code(), Code::kUnimplemented);
  EXPECT_EQ(Saved(), before);
}

TEST_F(MirrorTest, BodiesDoNotDraw) {
  Build("sgd");
  graph::GraphIndex body;
  {
    BodyScope scope(builder_);
    scope.SetOutputs({Node("RandomUniform", {}, {{"shape", std::vector<int64_t>{}}})});
    body = scope.index();
  }
  const ValueId called = Output(AddNode(
      {.domain = std::string(ops::kControl), .op = "Call", .attributes = {{"body", body}}}));
  builder_.SignatureNamed("train").outputs.push_back({"drawn", called});
  const Status status = MirrorAs({});
  EXPECT_EQ(status.code(), Code::kUnimplemented);
  EXPECT_NE(status.ToString().find("a body that draws random numbers"), std::string::npos);
}

TEST_F(MirrorTest, OnlyTheOutputsOfTheSignatureChange) {
  Build("sgd");
  builder_.SignatureNamed("eval").outputs.push_back({"loss", loss_});
  ASSERT_TRUE(MirrorAs({}).ok());
  EXPECT_EQ(builder_.SignatureNamed("eval").outputs[0].value, loss_);
  EXPECT_NE(builder_.SignatureNamed("train").outputs[0].value, loss_);
}

TEST_F(MirrorTest, AFailureLeavesTheGraphAsItWas) {
  Build("sgd");
  const size_t nodes = builder_.graph().nodes.size();
  EXPECT_EQ(Mirror(builder_, "trains", "g", {}).code(), Code::kNotFound);
  builder_.SignatureNamed("infer").outputs.push_back({"loss", loss_});
  EXPECT_EQ(Mirror(builder_, "infer", "g", {}).code(), Code::kFailedPrecondition);
  ASSERT_TRUE(MirrorAs({}).ok());
  EXPECT_GT(builder_.graph().nodes.size(), nodes);
  EXPECT_EQ(MirrorAs({}).code(), Code::kAlreadyExists);
}

}  // namespace
}  // namespace hr::transform
