// Adds the nodes of an ONNX graph to a module under construction.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "converters/onnx/convert.h"
#include "converters/onnx/problems.h"
#include "converters/onnx/roles.h"
#include "converters/onnx/tensors.h"
#include "runtime/transform/graph_builder.h"

namespace hr::onnx {

class GraphConverter {
 public:
  GraphConverter(const ModelProto& model, TensorReader& tensors, transform::GraphBuilder& builder,
                 const ConvertOptions& options);

  // The whole graph with the signature "infer".
  Status Convert();
  Problems& problems() { return problems_; }
  const std::map<std::string, size_t>& operators() const { return operators_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  using ValueId = graph::ValueId;
  using Opsets = std::map<std::string_view, int64_t>;
  // What a graph or the body of a function sees.
  struct Scope {
    const Opsets* opsets;
    std::string prefix;  // of names; empty in the main graph
    std::unordered_map<std::string_view, ValueId> values;
    const std::vector<AttributeProto>* given = nullptr;  // attributes of the call of a function
    const std::vector<AttributeProto>* defaults = nullptr;
    int depth = 0;
  };

  void AddInitializers(Scope& scope);
  Result<ValueId> AddInitializer(const TensorProto& proto);
  Result<ValueId> AddTensor(std::string_view name, const std::string& unique, Tensor tensor);
  void AddInputs(Scope& scope);
  Result<graph::ValueType> TypeOf(const ValueInfoProto& info);
  void AddNodes(Scope& scope, const std::vector<NodeProto>& nodes);
  Status AddNode(Scope& scope, const NodeProto& node);
  Status AddConstantNode(Scope& scope, const NodeProto& node);
  Status AddOperator(Scope& scope, const NodeProto& node, int64_t version);
  Status AddCall(Scope& scope, const NodeProto& node, const FunctionProto& function);
  void AddOutputs(const Scope& scope);
  Status Emit(Scope& scope, const NodeProto& node, int64_t version, std::vector<ValueId> inputs,
              std::vector<graph::Attribute> attributes);

  // What bodies take of the graph around them.
  struct Captures {
    std::vector<std::pair<std::string_view, ValueId>> values;
    std::vector<std::pair<std::string_view, Tensor>> constants;  // small ones, which are repeated
    bool complete = true;  // false: something could not be converted
  };
  static bool IsControl(const NodeProto& node);
  Status AddControl(Scope& scope, const NodeProto& node, int64_t version);
  Result<Captures> CapturesOf(const Scope& scope, std::span<const GraphProto* const> bodies);
  std::vector<graph::ValueType> GivenToBody(const NodeProto& node, bool lengths,
                                            std::span<const ValueId> inputs);
  // What a branch of an If becomes.
  Result<uint32_t> AddBranch(const Scope& around, const GraphProto& body, const Captures& captures);
  // `sized`: what is captured has the sizes that it has around the body; else any.
  Result<uint32_t> AddBody(const Scope& around, const GraphProto& body,
                           std::span<const graph::ValueType> given, const Captures& captures,
                           bool sized = true);
  Status AddBodyInput(Scope& scope, std::string_view name, graph::ValueType type);
  Status AddBodyConstant(Scope& scope, std::string_view name, Tensor tensor);

  const FunctionProto* FindFunction(const NodeProto& node) const;
  Result<int64_t> VersionOf(const Scope& scope, const NodeProto& node) const;
  Result<std::vector<ValueId>> InputsOf(const Scope& scope, const NodeProto& node);
  Result<std::vector<graph::Attribute>> AttributesOf(const Scope& scope, const NodeProto& node);
  Result<graph::AttributeValue> ValueOf(const AttributeProto& attribute);
  // The attribute itself, or what a function's call gives in its place; null: it is absent.
  const AttributeProto* Resolve(const Scope& scope, const AttributeProto& attribute) const;
  void Name(const Scope& scope, ValueId value, std::string_view name);

  const ModelProto& model_;
  TensorReader& tensors_;
  transform::GraphBuilder& builder_;
  const ConvertOptions& options_;
  Opsets opsets_;
  const Functions functions_;
  const Roles roles_;
  // Values that are not there because their node could not be converted.
  std::set<std::string_view> missing_;
  Problems problems_{"the model cannot be converted"};
  size_t nodes_of_functions_ = 0;
  std::map<std::string, size_t> operators_;
  std::vector<std::string> warnings_;
  graph::Signature signature_;
};

}  // namespace hr::onnx
