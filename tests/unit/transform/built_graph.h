// A graph under construction, for tests of what is done to it afterwards.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/format/writer.h"
#include "runtime/transform/graph_builder.h"
#include "runtime/transform/specialize.h"
#include "tests/reference/evaluator.h"

namespace hr::transform {

using Values = std::vector<double>;
using Attributes = std::vector<graph::Attribute>;

class BuiltGraph : public ::testing::Test {
 protected:
  static Tensor Make(DType dtype, const Dims& dims, const Values& values) {
    reference::Array array(dtype, dims);
    array.data.assign(values.begin(), values.end());
    return reference::ToTensor(array);
  }
  // A vector.
  ValueId Constant(const Values& values, DType dtype = DType::kFloat32) {
    return *builder_.Constant(Make(dtype, {static_cast<int64_t>(values.size())}, values));
  }
  ValueId Input(std::string_view name, const Dims& dims, DType dtype = DType::kFloat32) {
    return *builder_.AddInput(name, graph::ValueType::Tensor(dtype, dims));
  }
  // A vector.
  uint32_t Variable(std::string_view name, const Values& values, DType dtype = DType::kFloat32) {
    return *builder_.AddVariable(name, Make(dtype, {static_cast<int64_t>(values.size())}, values),
                                 true);
  }
  NodeId AddNode(NodeSpec spec) {
    auto node = builder_.AddNode(std::move(spec));
    EXPECT_TRUE(node.ok()) << node.status().ToString();
    return node.ok() ? *node : kNone;
  }
  // Output 0 of a new node.
  ValueId Node(std::string op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return Output(AddNode(
        {.op = std::move(op), .inputs = std::move(inputs), .attributes = std::move(attributes)}));
  }
  // Into halves.
  NodeId Split(ValueId value) {
    return AddNode({.op = "Split",
                    .inputs = {value},
                    .outputs = 2,
                    .attributes = {{"num_outputs", int64_t{2}}}});
  }
  NodeId Effect(std::string op, uint32_t variable, ValueId value) {
    return AddNode({.domain = std::string(ops::kState),
                    .op = std::move(op),
                    .inputs = {value},
                    .outputs = 0,
                    .attributes = {{"variable", int64_t{variable}}}});
  }
  ValueId Output(NodeId node, size_t i = 0) { return builder_.graph().nodes[node].outputs[i]; }
  NodeId Producer(ValueId value) { return builder_.graph().values[value].producer; }
  // The bytes of the file that the graph would be saved as.
  std::string Saved() const { return SavedOf(builder_); }
  static std::string SavedOf(const GraphBuilder& builder) {
    return format::WriteModuleToString(builder.module()).value();
  }

  ops::OpRegistry registry_;
  GraphBuilder builder_{SystemAllocator(), registry_};
};

// Folds by the reference's arithmetic, and counts.
class ReferenceEvaluator final : public ConstantEvaluator {
 public:
  Result<std::vector<Tensor>> Evaluate(const graph::Module& module, NodeId id) override {
    ++calls;
    const graph::Node& node = module.main().nodes[id];
    std::vector<reference::Array> inputs, none;
    std::vector<const reference::Array*> given;
    inputs.reserve(node.inputs.size());
    for (ValueId input : node.inputs) {
      if (input == kNone) {
        given.push_back(nullptr);
        continue;
      }
      const uint32_t constant = module.main().values[input].constant;
      EXPECT_NE(constant, kNone) << "only constants can be folded";
      given.push_back(&inputs.emplace_back(reference::FromTensor(module.constants[constant])));
    }
    HR_ASSIGN_OR_RETURN(auto&& arrays, reference::EvaluateNode(module, node, given, none));
    std::vector<Tensor> out(node.outputs.size());
    for (size_t i = 0; i < out.size(); ++i) {
      if (node.outputs[i] != kNone) out[i] = reference::ToTensor(arrays[i]);
    }
    return out;
  }

  bool MultipliesBfloat16() const override { return multiplies_bfloat16; }

  int calls = 0;
  bool multiplies_bfloat16 = false;
};

// How many nodes of the module's main graph have the operator.
inline size_t CountOf(const graph::Module& module, std::string_view op) {
  size_t count = 0;
  for (const graph::Node& node : module.main().nodes) count += module.OperatorOf(node).name == op;
  return count;
}

// What is wrong in a specialized module, whose variables start as a session says, and whose outputs
// may be one value under several names; or "OK".
inline std::string Verified(graph::Module module) {
  for (graph::Variable& variable : module.variables)
    variable.initial_constant = variable.initial_graph = kNone;
  auto& outputs = module.signatures[0].outputs;
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i].name = Cat("output ", i);
  return graph::Verify(module, true).ToString();
}

}  // namespace hr::transform
