#include "runtime/transform/graph_builder.h"

#include "runtime/ops/infer.h"
#include "runtime/transform/specialize.h"
#include "tests/unit/transform/built_graph.h"

namespace hr::transform {
namespace {

using Controls = std::vector<NodeId>;

class Builder : public BuiltGraph {
 protected:
  const Controls& ControlsOf(NodeId node) { return builder_.graph().nodes[node].controls; }
  // The node of a Read at this place in program order.
  NodeId Read(uint32_t variable) { return Producer(*builder_.Read(variable)); }
};

// ---- Effects ----

class Effects : public Builder {
 protected:
  uint32_t v_ = Variable("v", {1, 2}), w_ = Variable("w", {1, 2});
  ValueId x_ = Input("x", {2});
};

TEST_F(Effects, OnOneVariableAreChainedInProgramOrder) {
  const NodeId first = Effect("Assign", w_, x_);
  const NodeId read = Read(w_);
  const NodeId second = Effect("AssignAdd", w_, x_);
  const NodeId third = Effect("AssignAdd", w_, x_);
  EXPECT_EQ(ControlsOf(first), Controls());
  EXPECT_EQ(ControlsOf(read), Controls{first});
  EXPECT_EQ(ControlsOf(second), (Controls{first, read}));
  EXPECT_EQ(ControlsOf(third), Controls{second});
}

TEST_F(Effects, OnDifferentVariablesAreNot) {
  Effect("Assign", v_, x_);
  EXPECT_EQ(ControlsOf(Effect("Assign", w_, x_)), Controls());
  EXPECT_EQ(ControlsOf(Read(w_)).size(), 1u);
}

// It is of the start of the step, so no write needs to wait for it either.
TEST_F(Effects, AReadBeforeAllWritesIsFree) {
  const NodeId read = Read(w_);
  EXPECT_EQ(ControlsOf(read), Controls());
  EXPECT_EQ(ControlsOf(Effect("Assign", w_, x_)), Controls());
}

TEST_F(Effects, AVariableIsReadOnceBetweenWrites) {
  const ValueId before = *builder_.Read(w_);
  EXPECT_EQ(*builder_.Read(w_), before);
  Effect("Assign", w_, x_);
  const ValueId after = *builder_.Read(w_);
  EXPECT_NE(after, before);
  EXPECT_EQ(*builder_.Read(w_), after);
}

TEST_F(Effects, ANodeThatIsNotChainedHasItsOwnControlsAlone) {
  const NodeId first = Effect("Assign", w_, x_);
  Effect("AssignAdd", w_, x_);
  const NodeId apart = AddNode({.domain = std::string(ops::kState),
                                .op = "AssignAdd",
                                .inputs = {x_},
                                .outputs = 0,
                                .attributes = {{"variable", int64_t{w_}}},
                                .controls = {first},
                                .chained = false});
  EXPECT_EQ(ControlsOf(apart), Controls{first});
}

// One that waits for something is not of the start of the step.
TEST_F(Effects, AWriteWaitsForAReadThatWaitsForSomethingElse) {
  const NodeId elsewhere = Effect("Assign", v_, x_);
  const NodeId read = AddNode({.domain = std::string(ops::kState),
                               .op = "Read",
                               .attributes = {{"variable", int64_t{w_}}},
                               .controls = {elsewhere}});
  EXPECT_EQ(ControlsOf(read), Controls{elsewhere});
  EXPECT_EQ(ControlsOf(Effect("Assign", w_, x_)), Controls{read});
}

// An operator on a group and one on a table, as they will come with communication.
class OtherEffects : public Builder {
 protected:
  static constexpr ops::AttributeDef kGroup[] = {
      {"group", ops::AttributeKind::kString, true, ops::Changes(ops::ResourceKind::kGroup)}};
  static constexpr ops::AttributeDef kTable[] = {
      {"table", ops::AttributeKind::kString, true, ops::Reads(ops::ResourceKind::kTable)}};
  static Status Infer(ops::InferContext& context) {
    context.SetOutput(0, context.input(0));
    return {};
  }
  static constexpr ops::OpDef kReduce = {
      .domain = ops::kComm, .name = "TestReduce", .attributes = kGroup, .infer = Infer};
  static constexpr ops::OpDef kPull = {
      .domain = ops::kComm, .name = "TestPull", .attributes = kTable, .infer = Infer};

  void SetUp() override {
    ASSERT_TRUE(registry_.Add(kReduce).ok());
    ASSERT_TRUE(registry_.Add(kPull).ok());
  }
  NodeId On(const char* op, const char* attribute, const char* name) {
    NodeSpec spec{.domain = std::string(ops::kComm), .op = op, .inputs = {x_}};
    spec.attributes.push_back({attribute, std::string(name)});
    return *builder_.AddNode(std::move(spec));
  }
  ValueId x_ = Input("x", {2});
};

TEST_F(OtherEffects, AreChainedByTheNameOfTheirResource) {
  const NodeId first = On("TestReduce", "group", "world"), other = On("TestReduce", "group", "row");
  const NodeId second = On("TestReduce", "group", "world"), pull = On("TestPull", "table", "world");
  EXPECT_EQ(ControlsOf(other), Controls());
  EXPECT_EQ(ControlsOf(second), Controls{first});
  EXPECT_EQ(ControlsOf(pull), Controls());
  EXPECT_EQ(ControlsOf(On("TestPull", "table", "world")), Controls());  // both only read it
}

TEST_F(OtherEffects, AreNeitherFoldedNorMerged) {
  EXPECT_FALSE(kReduce.foldable());
  EXPECT_FALSE(kPull.foldable());
  const auto effects =
      ops::EffectsOf(kReduce, builder_.graph().nodes[On("TestReduce", "group", "world")]);
  ASSERT_EQ(effects.size(), 1u);
  EXPECT_EQ(effects[0].resource,
            (ops::Resource{.kind = ops::ResourceKind::kGroup, .name = "world"}));
  EXPECT_TRUE(effects[0].reads && effects[0].writes);
  Request request;
  for (int i = 0; i < 2; ++i) {
    const NodeId pull = On("TestPull", "table", "t");
    request.fetches.push_back(builder_.graph().nodes[pull].outputs[0]);
  }
  request.feeds = {{x_, DType::kFloat32, {2}}};
  const auto region =
      Specialize(registry_, builder_.module(), request, nullptr, SystemAllocator()).value();
  EXPECT_EQ(region.main().nodes.size(), 2u);
}

TEST_F(Effects, GoOnInAModuleThatIsContinued) {
  Effect("Assign", w_, x_);
  const NodeId free = Read(v_);
  const NodeId last = Effect("AssignAdd", w_, x_), read = Read(w_);
  builder_ = GraphBuilder(SystemAllocator(), registry_, builder_.Finish().value());
  EXPECT_EQ(ControlsOf(read), Controls{last});
  EXPECT_EQ(Read(w_), read);
  EXPECT_EQ(Read(v_), free);
  EXPECT_EQ(ControlsOf(Effect("Assign", w_, x_)), (Controls{last, read}));
  EXPECT_NE(Read(w_), read);
  EXPECT_EQ(ControlsOf(Effect("Assign", v_, x_)), Controls());
}

// ---- Names, streams and types ----

TEST_F(Builder, NamesAreMadeUnique) {
  const ValueId x = Input("x", {2});
  const NodeId a = AddNode({.op = "Exp", .inputs = {x}}), b = AddNode({.op = "Exp", .inputs = {x}});
  EXPECT_EQ(builder_.graph().nodes[a].name, "Exp");
  EXPECT_NE(builder_.graph().nodes[b].name, "Exp");
  builder_.SetScope("layer");
  const NodeId c = AddNode({.op = "Exp", .inputs = {x}});
  EXPECT_EQ(builder_.graph().nodes[c].name, "layer/Exp");
  builder_.SetScope("");
  EXPECT_EQ(builder_.AddNode({.op = "Exp", .inputs = {x}, .name = "x"}).status().code(),
            Code::kAlreadyExists);
  EXPECT_FALSE(builder_.AddInput("Exp", graph::ValueType::Tensor(DType::kFloat32, {})).ok());
  ASSERT_TRUE(builder_.RenameValue(x, "z").ok());
  EXPECT_TRUE(builder_.AddInput("x", graph::ValueType::Tensor(DType::kFloat32, {})).ok());
  EXPECT_FALSE(builder_.RenameValue(x, "x").ok());
}

TEST_F(Builder, EveryRandomNodeDrawsFromAStreamOfItsOwn) {
  const auto stream = [&](const GraphBuilder& builder, ValueId value) {
    return builder.graph().nodes[builder.graph().values[value].producer].Int("stream", -1);
  };
  const Attributes shape = {{"shape", std::vector<int64_t>{2}}};
  const ValueId a = Node("RandomUniform", {}, shape), b = Node("RandomUniform", {}, shape);
  const int64_t first = stream(builder_, a), second = stream(builder_, b);
  EXPECT_GE(first, 0);
  EXPECT_NE(first, second);
  GraphBuilder next(SystemAllocator(), registry_, builder_.Finish().value());
  const ValueId c = next.Emit("", "RandomUniform", {}, 1, shape).value()[0];
  EXPECT_GT(stream(next, c), std::max(first, second));
}

TEST_F(Builder, ANodeThatDoesNotFitLeavesNothingBehind) {
  const ValueId x = Input("x", {2}), y = Input("y", {3});
  const size_t values = builder_.graph().values.size();
  auto failed = builder_.AddNode({.op = "Add", .inputs = {x, y}, .name = "sum"});
  EXPECT_EQ(failed.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(failed.status().node(), "sum");
  EXPECT_EQ(builder_.AddNode({.op = "Add", .inputs = {x, 77}}).status().code(),
            Code::kInvalidArgument);
  EXPECT_FALSE(builder_.AddNode({.op = "Ad", .inputs = {x, x}}).ok());
  EXPECT_TRUE(builder_.graph().nodes.empty());
  EXPECT_EQ(builder_.graph().values.size(), values);
  EXPECT_TRUE(builder_.module().operators.empty());
  EXPECT_TRUE(builder_.AddNode({.op = "Add", .inputs = {x, x}, .name = "sum"}).ok());
}

TEST_F(Builder, OutputsAreAddedWhereTheyAreAskedFor) {
  const ValueId x = Input("x", {2});
  const NodeId dropout = AddNode({.op = "Dropout", .inputs = {x}});
  const ValueId mask = *builder_.RequireOutput(dropout, 1);
  EXPECT_EQ(builder_.graph().values[mask].type, graph::ValueType::Tensor(DType::kBool, {2}));
  EXPECT_EQ(*builder_.RequireOutput(dropout, 1), mask);
  EXPECT_EQ(Producer(mask), dropout);
}

TEST_F(Builder, NodesAreWhereTheBuilderOrTheyThemselvesSay) {
  const ValueId x = Input("x", {2});
  EXPECT_EQ(builder_.SetDevice("TOY:0"), "");
  const NodeId there = AddNode({.op = "Exp", .inputs = {x}});
  const NodeId own = AddNode({.op = "Exp", .inputs = {x}, .device = "CPU:0"});
  EXPECT_EQ(builder_.SetDevice(""), "TOY:0");
  EXPECT_EQ(builder_.graph().nodes[there].device, "TOY:0");
  EXPECT_EQ(builder_.graph().nodes[own].device, "CPU:0");
  EXPECT_EQ(builder_.graph().nodes[AddNode({.op = "Exp", .inputs = {x}})].device, "");
}

// ---- Variables, dimensions and signatures ----

TEST_F(Builder, InitializersMakeTheTypeOfTheirVariable) {
  const NodeSpec draw{.op = "RandomUniform", .attributes = {{"shape", std::vector<int64_t>{2}}}};
  auto wrong = builder_.AddVariable("w", DType::kFloat32, {3}, true, draw);
  EXPECT_EQ(wrong.status().message(),
            "initializer of variable 'w': expected float32[3], it makes float32[2]");
  EXPECT_FALSE(builder_.AddVariable("w", DType::kFloat64, {2}, true, draw).ok());
  EXPECT_TRUE(builder_.module().variables.empty());
  EXPECT_EQ(builder_.module().graphs.size(), 1u);
  EXPECT_TRUE(builder_.AddVariable("w", DType::kFloat32, {2}, true, draw).ok());
  EXPECT_EQ(builder_.AddVariable("w", DType::kFloat32, {2}, true, draw).status().code(),
            Code::kAlreadyExists);
  EXPECT_TRUE(builder_.graph().nodes.empty()) << "it stands in a graph of its own";
}

TEST_F(Builder, BoundsOfDimensionsAreChecked) {
  const uint32_t n = builder_.AddSymbol("n");
  EXPECT_EQ(builder_.AddSymbol("n"), n);
  EXPECT_TRUE(builder_.SetSymbolBounds("n", 1, 64, {8, 64}).ok());
  EXPECT_TRUE(builder_.SetSymbolBounds("n", 1, graph::kUnknownDim, {}).ok());
  EXPECT_FALSE(builder_.SetSymbolBounds("n", -1, 64, {}).ok());
  EXPECT_FALSE(builder_.SetSymbolBounds("n", 8, 7, {}).ok());
  EXPECT_FALSE(builder_.SetSymbolBounds("n", 1, 64, {9, 8}).ok());
  EXPECT_EQ(builder_.SetSymbolBounds("m", 1, 64, {}).message(),
            "no input has a dimension 'm' yet; there are: n");
}

TEST_F(Builder, SignaturesHaveNamesOfTheirOwn) {
  EXPECT_FALSE(builder_.AddSignature({}).ok());
  EXPECT_TRUE(builder_.AddSignature({.name = "infer"}).ok());
  EXPECT_EQ(builder_.AddSignature({.name = "infer"}).code(), Code::kAlreadyExists);
  builder_.SignatureNamed("infer").outputs.push_back({"x", Input("x", {2})});
  EXPECT_EQ(builder_.SignatureNamed("infer").outputs.size(), 1u);
  EXPECT_TRUE(builder_.SignatureNamed("train").outputs.empty());
  EXPECT_EQ(builder_.Finish()->signatures.size(), 2u);
}

TEST_F(Builder, AFailureIsRolledBackWholly) {
  const ValueId x = Input("x", {2});
  const NodeId dropout = AddNode({.op = "Dropout", .inputs = {x}});
  builder_.SignatureNamed("infer").outputs.push_back({"x", x});
  const std::string before = Saved();
  std::string between;
  const auto inner = [&]() -> Status {
    Node("Exp", {Input("z", {2})});
    return Unavailable("inner");
  };
  const auto outer = [&]() -> Status {
    builder_.SetScope("scope");
    builder_.SetDevice("TOY:0");
    builder_.AddSymbol("n");
    builder_.SignatureNamed("infer").targets.push_back(dropout);
    builder_.SignatureNamed("train").targets.push_back(dropout);
    Effect("AssignAdd", Variable("v", {1, 2}), x);
    EXPECT_TRUE(builder_.RequireOutput(dropout, 1).ok());
    Node("Exp", {Input("y", {2})});
    between = Saved();
    EXPECT_EQ(builder_.AllOrNothing(inner).message(), "inner");
    EXPECT_EQ(Saved(), between);
    return Unavailable("outer");
  };
  EXPECT_EQ(builder_.AllOrNothing(outer).message(), "outer");
  EXPECT_NE(before, between);
  EXPECT_EQ(Saved(), before);
  EXPECT_EQ(builder_.SetDevice(""), "");
  EXPECT_EQ(builder_.UniqueName("Exp"), "Exp");
  EXPECT_EQ(builder_.SetSymbolBounds("n", 1, 2, {}).code(), Code::kNotFound);
}

}  // namespace
}  // namespace hr::transform
