#include "runtime/transform/infer_types.h"

#include "tests/unit/transform/built_graph.h"

namespace hr::transform {
namespace {

class InferTypesTest : public BuiltGraph {
 protected:
  // Forgets what the builder inferred, and gives the first input another type.
  graph::Module Forgotten(const graph::ValueType& type) {
    graph::Module module = builder_.module();
    for (graph::Value& value : module.main().values) {
      if (value.producer != kNone) value.type = {};
    }
    module.main().values[module.main().inputs[0]].type = type;
    return module;
  }
};

TEST_F(InferTypesTest, TypesFlowFromTheInputsToAllNodes) {
  const ValueId x = Input("x", {2, 3});
  const ValueId product = Node("MatMul", {x, Constant({1, 2, 3})});
  const ValueId doubled = Node("Cast", {product}, {{"to", static_cast<int64_t>(DType::kFloat64)}});
  graph::Module module = Forgotten(graph::ValueType::Tensor(DType::kFloat32, {5, 3}));
  // In any order of the nodes.
  std::swap(module.main().nodes[0], module.main().nodes[1]);
  module.main().values[product].producer = 1;
  module.main().values[doubled].producer = 0;
  ASSERT_TRUE(InferTypes(registry_, module, module.main()).ok());
  EXPECT_EQ(module.main().values[product].type, graph::ValueType::Tensor(DType::kFloat32, {5}));
  EXPECT_EQ(module.main().values[doubled].type, graph::ValueType::Tensor(DType::kFloat64, {5}));
}

TEST_F(InferTypesTest, ValuesOfConstantsCount) {
  const ValueId shape = Constant({3, 2}, DType::kInt64);
  const ValueId reshaped = Node("Reshape", {Input("x", {2, 3}), shape});
  graph::Module module = Forgotten(graph::ValueType::Tensor(DType::kFloat32, {6}));
  ASSERT_TRUE(InferTypes(registry_, module, module.main()).ok());
  EXPECT_EQ(module.main().values[reshaped].type, graph::ValueType::Tensor(DType::kFloat32, {3, 2}));
}

TEST_F(InferTypesTest, ValuesOfConstantNodesCount) {
  const ValueId x = Input("x", {2, 3});
  const ValueId list = Node("Constant", {}, {{"value_ints", std::vector<int64_t>{3, 2}}});
  const uint32_t tensor = builder_.graph().values[Constant({1}, DType::kInt64)].constant;
  const ValueId axes = Node("Constant", {}, {{"value", graph::TensorIndex{tensor}}});
  const ValueId end = Node("Constant", {}, {{"value_int", int64_t{4}}});
  const ValueId zero = Node("Constant", {}, {{"value_int", int64_t{0}}});
  const ValueId one = Node("Constant", {}, {{"value_int", int64_t{1}}});
  const ValueId scales = Node("Constant", {}, {{"value_floats", Values{2, 1}}});
  const ValueId reshaped = Node("Reshape", {x, list});
  const ValueId longer = Node("Unsqueeze", {x, axes});
  const ValueId range = Node("Range", {zero, end, one});
  const ValueId larger = Node("Resize", {x, kNone, scales});
  const auto dims = [&](ValueId value) { return *builder_.graph().values[value].type.FixedDims(); };
  EXPECT_EQ(dims(reshaped), (Dims{3, 2}));
  EXPECT_EQ(dims(longer), (Dims{2, 1, 3}));
  EXPECT_EQ(dims(range), (Dims{4}));
  EXPECT_EQ(dims(larger), (Dims{4, 3}));
}

TEST_F(InferTypesTest, AFailureNamesTheNode) {
  const ValueId x = Input("x", {2});
  Node("Exp", {x});
  AddNode({.op = "Add", .inputs = {x, Constant({1, 2})}, .name = "the sum"});
  graph::Module module = Forgotten(graph::ValueType::Tensor(DType::kFloat32, {3}));
  const Status status = InferTypes(registry_, module, module.main());
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.node(), "the sum");
}

TEST_F(InferTypesTest, OperatorsArityAndAttributesAreChecked) {
  const ValueId x = Input("x", {2});
  AddNode({.op = "Exp", .inputs = {x}, .name = "exp"});
  const auto type = graph::ValueType::Tensor(DType::kFloat32, {2});
  graph::Module more = Forgotten(type);
  more.main().nodes[0].inputs.push_back(x);
  EXPECT_EQ(InferNode(registry_, more, more.main(), 0).node(), "exp");
  graph::Module attribute = Forgotten(type);
  attribute.main().nodes[0].attributes.push_back({"axis", int64_t{1}});
  EXPECT_EQ(InferNode(registry_, attribute, attribute.main(), 0).node(), "exp");
  graph::Module unknown = Forgotten(type);
  unknown.operators[0].name = "Expp";
  EXPECT_FALSE(InferNode(registry_, unknown, unknown.main(), 0).ok());
}

}  // namespace
}  // namespace hr::transform
