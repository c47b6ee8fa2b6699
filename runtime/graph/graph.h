// The graph in memory. Plain data: a Module is built by transform::GraphBuilder or by
// format::ReadModule, checked by Verify, and immutable once a Model owns it.
#pragma once

#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/device/tensor.h"
#include "runtime/graph/type.h"

namespace hr::graph {

using ValueId = uint32_t;
using NodeId = uint32_t;

// One for each node, value, …: not vector<bool>, whose packing costs code at every use.
using Marks = std::vector<char>;

// Indices into Module::constants and Module::graphs, as attributes.
struct TensorIndex {
  uint32_t index;
  friend bool operator==(const TensorIndex&, const TensorIndex&) = default;
};
struct GraphIndex {
  uint32_t index;
  friend bool operator==(const GraphIndex&, const GraphIndex&) = default;
};

using AttributeValue =
    std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                 std::vector<std::string>, TensorIndex, GraphIndex>;

struct Attribute {
  std::string name;
  AttributeValue value;
  friend bool operator==(const Attribute&, const Attribute&) = default;
};

// An attribute as source code writes it, {"axis", axis}; refers to what it was made of.
struct AttributeInit {
  std::string_view name;
  std::variant<int64_t, double, std::string_view, std::span<const int64_t>> value;
};
std::vector<Attribute> Attributes(std::initializer_list<AttributeInit> list);
void Append(std::vector<Attribute>* attributes, const AttributeInit& init);

// An operator by (domain, name, version); "" is ONNX's domain.
struct Operator {
  std::string domain;
  std::string name;
  int32_t version = 0;
  friend bool operator==(const Operator&, const Operator&) = default;
};

struct Node {
  uint32_t op = 0;               // index into Module::operators
  std::vector<ValueId> inputs;   // kNone for an omitted optional input
  std::vector<ValueId> outputs;  // kNone for an output that nobody asked for
  std::vector<NodeId> controls;  // nodes that must have finished first: the only order of effects
  std::vector<Attribute> attributes;
  std::string device;  // a constraint such as "CPU:0"; empty: placed by the session
  std::string name;    // empty in a stripped file

  const AttributeValue* Find(Literal attribute) const;
  // The attribute, or `otherwise` if it is absent. Types were checked with the operator.
  int64_t Int(Literal attribute, int64_t otherwise) const;
  double Float(Literal attribute, double otherwise) const;
  std::string_view String(Literal attribute, Literal otherwise) const;
  // Empty if absent.
  std::span<const int64_t> Ints(Literal attribute) const;
};

struct Value {
  ValueType type;
  NodeId producer = kNone;    // kNone for inputs and constants
  uint32_t constant = kNone;  // index into Module::constants
  std::string name;
};

// One body: the main graph, an initializer, or a function's / subgraph's body.
struct Graph {
  std::vector<Value> values;
  std::vector<Node> nodes;  // in any order that respects inputs and controls
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;  // of subgraphs; the main graph's are in signatures
};

struct Variable {
  std::string name;
  DType dtype = DType::kUndefined;
  Dims dims;
  bool trainable = true;
  uint32_t initial_constant = kNone;  // one of the two is given
  uint32_t initial_graph = kNone;     // its single output is the initial value
};

struct Port {
  std::string name;
  ValueId value = kNone;
};

// A named entry into graphs[0].
struct Signature {
  std::string name;
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  std::vector<NodeId> targets;  // run for their effects
};

struct Module {
  std::string producer;
  std::map<std::string, int32_t, std::less<>> opsets;  // domain → version
  std::map<std::string, std::string> metadata;
  std::vector<Operator> operators;
  std::vector<Symbol> symbols;
  std::vector<Graph> graphs = std::vector<Graph>(1);  // [0] is the main graph
  std::vector<Variable> variables;
  std::vector<Tensor> constants;
  std::vector<Signature> signatures;

  Graph& main() { return graphs[0]; }
  const Graph& main() const { return graphs[0]; }
  const Operator& OperatorOf(const Node& node) const { return operators[node.op]; }
  // The index of the operator, added if it is new.
  uint32_t InternOperator(std::string_view domain, std::string_view name, int32_t version);
  const Signature* FindSignature(std::string_view name) const;
  uint32_t FindVariable(std::string_view name) const;  // kNone if there is none
  Marks InitialConstants() const;  // of the constants: those that variables begin with
};

// How a node or value is called in messages: its name, or "#12 (Conv)" if names were stripped.
std::string NodeText(const Module& module, const Graph& graph, NodeId node);
std::string ValueText(const Graph& graph, ValueId value);
// The value with this name, or kNone.
ValueId FindValue(const Graph& graph, std::string_view name);

// Checks every index, the single producer of each value, that names are text and unique where they
// must be, and that nodes form no cycle and bodies do not nest without end. Reader and builder both
// call it; nothing later checks again. Only variables of a region have no initial value.
Status Verify(const Module& module, bool is_region = false);

// Nodes so ordered that inputs and controls come first; ties go by NodeId. Fails on a cycle.
Result<std::vector<NodeId>> TopologicalOrder(const Graph& graph);

}  // namespace hr::graph
