#include "runtime/transform/fold.h"

#include "tests/unit/transform/built_graph.h"

namespace hr::transform {
namespace {

class Fold : public BuiltGraph {
 protected:
  // Folds what was built; with `evaluator` null only shapes.
  Status Run(ConstantEvaluator* evaluator) {
    module_ = builder_.module();
    return InferAndFold({registry_, evaluator, SystemAllocator()}, module_, &record_);
  }
  bool IsConstant(ValueId value) const { return module_.main().values[value].constant != kNone; }
  const Tensor& TensorOf(ValueId value) const {
    return module_.constants[module_.main().values[value].constant];
  }
  Values Numbers(ValueId value) const {
    const auto array = reference::FromTensor(TensorOf(value));
    return {array.data.begin(), array.data.end()};
  }
  // Folds the same graph once more with its first input of other dimensions.
  Status Again(const Dims& dims) {
    graph::Module again = builder_.module();
    graph::ValueType& type = again.main().values[again.main().inputs[0]].type;
    type = graph::ValueType::Tensor(type.dtype, dims);
    module_ = std::move(again);
    return InferAndFoldAgain({registry_, &evaluator_, SystemAllocator()}, record_, module_);
  }

  ReferenceEvaluator evaluator_;
  graph::Module module_;
  FoldRecord record_;
};

class FoldOfType : public Fold, public testing::WithParamInterface<DType> {};

TEST_P(FoldOfType, AChainOfConstantsBecomesAConstantOfItsTypeAndShape) {
  const ValueId two = Constant({2, 3}, GetParam());
  const ValueId sum = Node("Add", {two, Constant({1, 1}, GetParam())});
  const ValueId column = Node("Unsqueeze", {sum, Constant({1}, DType::kInt64)});
  const ValueId product = Node("Mul", {column, two});
  ASSERT_TRUE(Run(&evaluator_).ok());
  EXPECT_EQ(TensorOf(product).TypeText(), Cat(DTypeName(GetParam()), Dims{2, 2}));
  EXPECT_EQ(Numbers(product), (Values{6, 9, 8, 12}));
  const graph::Value& value = module_.main().values[product];
  EXPECT_EQ(value.type, graph::ValueType::Tensor(GetParam(), {2, 2}));
  EXPECT_EQ(value.producer, kNone);
  EXPECT_EQ(value.name, builder_.graph().values[product].name);
  EXPECT_EQ(evaluator_.calls, 3);
}

INSTANTIATE_TEST_SUITE_P(Types, FoldOfType,
                         testing::Values(DType::kFloat32, DType::kFloat64, DType::kInt64),
                         [](const auto& info) { return std::string(DTypeName(info.param)); });

TEST_F(Fold, WhatDependsOnAnInputStays) {
  const ValueId constant = Node("Neg", {Constant({1, 2})});
  const ValueId sum = Node("Add", {Input("x", {2}), constant});
  ASSERT_TRUE(Run(&evaluator_).ok());
  EXPECT_TRUE(IsConstant(constant));
  EXPECT_FALSE(IsConstant(sum));
  EXPECT_EQ(module_.main().values[sum].producer, Producer(sum));
  EXPECT_EQ(evaluator_.calls, 1);
}

// They have no inputs, or constant ones, and yet their outputs are others in each run.
TEST_F(Fold, RandomNodesAndReadsStay) {
  const ValueId constant = Constant({1, 2});
  const std::vector<ValueId> kept = {
      Node("RandomUniform", {}, {{"shape", std::vector<int64_t>{2}}}),
      Node("RandomNormalLike", {constant}), Node("Bernoulli", {constant}),
      *builder_.Read(Variable("w", {1, 2}))};
  const ValueId behind = Node("Add", {kept[0], constant});
  ASSERT_TRUE(Run(&evaluator_).ok());
  for (ValueId value : kept) EXPECT_FALSE(IsConstant(value)) << module_.main().values[value].name;
  EXPECT_FALSE(IsConstant(behind));
  EXPECT_EQ(evaluator_.calls, 0);
}

TEST_F(Fold, EffectsStay) {
  Effect("Assign", Variable("w", {1, 2}), Constant({3, 4}));
  const NodeId step = Effect("AssignAdd", 0, Constant({3, 4}));
  ASSERT_TRUE(Run(&evaluator_).ok());
  EXPECT_EQ(evaluator_.calls, 0);
  EXPECT_FALSE(record_.folded[step]);
  EXPECT_EQ(module_.main().nodes[step].controls, (std::vector<NodeId>{step - 1}));
}

// A constant that is larger than what it is computed from is cheaper computed in each run.
TEST_F(Fold, LargeOutputsStay) {
  const auto expand = [&](int64_t size) {
    return Node("Expand", {Constant({1}), Constant({static_cast<double>(size)}, DType::kInt64)});
  };
  const ValueId fits = expand(1 << 18), large = expand((1 << 18) + 1);
  ASSERT_TRUE(Run(&evaluator_).ok());
  EXPECT_TRUE(IsConstant(fits));  // 1 MiB
  EXPECT_FALSE(IsConstant(large));
}

// The dimensions are known once the input's are, whatever its values.
TEST_F(Fold, ShapesFoldWithoutAnEvaluator) {
  const ValueId x = Input("x", {4, 5, 6});
  const ValueId whole = Node("Shape", {x});
  const ValueId part = Node("Shape", {x}, {{"start", int64_t{-2}}, {"end", int64_t{7}}});
  const ValueId none = Node("Shape", {x}, {{"start", int64_t{2}}, {"end", int64_t{1}}});
  const ValueId sum = Node("Add", {whole, whole});
  ASSERT_TRUE(Run(nullptr).ok());
  EXPECT_EQ(Numbers(whole), (Values{4, 5, 6}));
  EXPECT_EQ(Numbers(part), (Values{5, 6}));
  EXPECT_EQ(TensorOf(none).TypeText(), "int64[0]");
  EXPECT_FALSE(IsConstant(sum));  // nobody computes it
}

TEST_F(Fold, AShapeOfUnknownDimensionsStays) {
  graph::ValueType type = graph::ValueType::Tensor(DType::kFloat32, {2, 3});
  type.dims[1] = {};
  const ValueId shape = Node("Shape", {*builder_.AddInput("x", type)});
  ASSERT_TRUE(Run(&evaluator_).ok());
  EXPECT_FALSE(IsConstant(shape));
}

TEST_F(Fold, TypesBecomeKnownFromFoldedShapes) {
  const ValueId x = Input("x", {4, 6});
  const ValueId y = Input("y", {24});
  const ValueId reshaped = Node("Reshape", {y, Node("Shape", {x})});
  ASSERT_TRUE(Run(nullptr).ok());
  EXPECT_EQ(module_.main().values[reshaped].type,
            graph::ValueType::Tensor(DType::kFloat32, {4, 6}));
}

// Nobody asks for the first output; it stays without a value.
TEST_F(Fold, OmittedOutputsStayOmitted) {
  const NodeId split = Split(Constant({1, 2, 3, 4}));
  const ValueId second = Output(split, 1);
  graph::Module module = builder_.module();
  module.main().values[Output(split)].producer = kNone;
  module.main().nodes[split].outputs[0] = kNone;
  ASSERT_TRUE(InferAndFold({registry_, &evaluator_, SystemAllocator()}, module, &record_).ok());
  module_ = std::move(module);
  EXPECT_EQ(Numbers(second), (Values{3, 4}));
  EXPECT_FALSE(IsConstant(Output(split)));
}

// The node's kernel fails: so does the plan, and says why.
TEST_F(Fold, FailuresOfTheEvaluatorAreTold) {
  class Failing final : public ConstantEvaluator {
    Result<std::vector<Tensor>> Evaluate(const graph::Module&, NodeId) override {
      return Status(Code::kUnavailable, "not today");
    }
  };
  Failing failing;
  Node("Neg", {Constant({1})});
  EXPECT_EQ(Run(&failing).message(), "not today");
}

// Convolutions of bfloat16 pack them as they are; others would widen them in every run.
TEST_F(Fold, WeightsOfBfloat16StayWhereTheDeviceMultipliesThem) {
  const auto widened = [&](ValueId x) {
    return Node("Cast", {x}, {{"to", static_cast<int64_t>(DType::kFloat32)}});
  };
  const ValueId constant = *builder_.Constant(Make(DType::kBfloat16, {2, 1, 1, 2}, {1, 2, 3, 4}));
  const ValueId w = widened(constant), alone = widened(constant);
  Node("Conv", {widened(Input("x", {1, 1, 3, 3}, DType::kBfloat16)), w});
  Node("Conv", {Input("y", {1, 1, 3, 3}), alone});
  for (const bool multiplies : {false, true}) {
    evaluator_.multiplies_bfloat16 = multiplies;
    record_ = {};
    ASSERT_TRUE(Run(&evaluator_).ok());
    EXPECT_EQ(IsConstant(w), !multiplies);
    EXPECT_TRUE(IsConstant(alone));
  }
}

TEST_F(Fold, FailuresOfTypeRulesNameTheNode) {
  const ValueId x = Input("x", {2});
  const NodeId sum = AddNode({.op = "Add", .inputs = {x, Constant({1, 2})}, .name = "the sum"});
  graph::Module module = builder_.module();
  module.main().values[x].type = graph::ValueType::Tensor(DType::kFloat32, {3});
  const Status status = InferAndFold({registry_, &evaluator_, SystemAllocator()}, module, &record_);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.node(), builder_.graph().nodes[sum].name);
}

TEST_F(Fold, AgainComputesOnlyWhatComesOutOtherwise) {
  const ValueId x = Input("x", {4, 6});
  const ValueId apart = Node("Neg", {Constant({7})});
  const ValueId rows = Node("Shape", {x}, {{"end", int64_t{1}}});
  const ValueId columns = Node("Shape", {x}, {{"start", int64_t{1}}});
  const ValueId twice = Node("Add", {rows, rows});
  const ValueId other = Node("Add", {columns, columns});
  ASSERT_TRUE(Run(&evaluator_).ok());
  EXPECT_EQ(evaluator_.calls, 3);
  ASSERT_TRUE(Again({5, 6}).ok());
  EXPECT_EQ(evaluator_.calls, 4);
  EXPECT_EQ(Numbers(twice), (Values{10}));
  EXPECT_EQ(Numbers(other), (Values{12}));
  EXPECT_EQ(Numbers(apart), (Values{-7}));
  ASSERT_TRUE(Again({4, 6}).ok());
  EXPECT_EQ(evaluator_.calls, 4);
  EXPECT_EQ(Numbers(twice), (Values{8}));
}

}  // namespace
}  // namespace hr::transform
