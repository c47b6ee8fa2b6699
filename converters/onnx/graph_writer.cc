#include "converters/onnx/graph_writer.h"

#include <algorithm>

#include "converters/onnx/fields.h"
#include "converters/onnx/model.h"
#include "runtime/base/errors.h"
#include "runtime/ops/op_def.h"

namespace hr::onnx {
namespace {

using graph::kNone;
using graph::ValueId;

// A body may be used by many nodes and is written for each of them.
constexpr size_t kMostNodes = 1 << 22;

// Attributes that ONNX does not have: which random numbers are drawn, how many values are captured.
// Those of Optional are one in ONNX, a type.
bool IsOurs(const graph::Operator& op, std::string_view attribute) {
  return attribute == "stream" || attribute == "captured" ||
         (op.name == "Optional" && op.domain.empty());
}

bool IsRead(const graph::Operator& op) { return op.domain == ops::kState && op.name == "Read"; }

bool HasBodies(const graph::Node& node) {
  return std::any_of(node.attributes.begin(), node.attributes.end(), [](const auto& attribute) {
    return std::holds_alternative<graph::GraphIndex>(attribute.value);
  });
}

std::string OperatorName(const graph::Operator& op) {
  return op.domain.empty() ? op.name : Cat(op.domain, ".", op.name);
}

std::string WayOut(const graph::Operator& op) {
  if (op.domain == ops::kState) return "write a signature that changes no variables";
  if (op.domain == ops::kGrad || op.domain == ops::kTrain) {
    return "write a signature that only infers";
  }
  return "write a signature without it";
}

// ---- Attributes by type ----

struct AttributeText {
  Rope& out;

  void operator()(int64_t value) const { Typed(AttributeProto::kInt).Int(AttributeProto_i, value); }
  void operator()(double value) const {
    Typed(AttributeProto::kFloat).Float(AttributeProto_f, static_cast<float>(value));
  }
  void operator()(const std::string& value) const {
    Typed(AttributeProto::kString).Text(AttributeProto_s, value);
  }
  void operator()(const std::vector<int64_t>& values) const {
    Typed(AttributeProto::kInts).Ints(AttributeProto_ints, values);
  }
  void operator()(const std::vector<double>& values) const {
    Typed(AttributeProto::kFloats).Floats(AttributeProto_floats, values);
  }
  void operator()(const std::vector<std::string>& values) const {
    Typed(AttributeProto::kStrings);
    for (const std::string& value : values) out.Text(AttributeProto_strings, value);
  }
  void operator()(graph::TensorIndex) const { Typed(AttributeProto::kTensor); }
  void operator()(graph::GraphIndex) const { Typed(AttributeProto::kGraph); }

  Rope& Typed(AttributeProto::Type type) const {
    out.Int(AttributeProto_type, type);
    return out;
  }
};

}  // namespace

GraphWriter::GraphWriter(const graph::Module& module, const graph::Signature& signature,
                         DataWriter data, const CallLimits* limits, Problems& problems)
    : module_(module),
      signature_(signature),
      data_(data),
      limits_(limits),
      problems_(problems),
      used_(module.operators.size(), false) {}

Rope GraphWriter::Write() {
  const Scope scope = MainScope();
  std::vector<ValueId> inputs;
  for (const graph::Port& port : signature_.inputs) inputs.push_back(port.value);
  std::vector<Output> outputs;
  for (const graph::Port& port : signature_.outputs) outputs.push_back({port.name, port.value});
  Rope graph = Contents(scope, inputs, outputs);
  AddVariables(graph);
  graph.Text(GraphProto_name, signature_.name);
  return graph;
}

// Whether a node that is written makes the value.
bool GraphWriter::IsMade(const graph::Graph& graph, ValueId value) const {
  const graph::NodeId producer = graph.values[value].producer;
  return producer != kNone && !IsRead(module_.OperatorOf(graph.nodes[producer]));
}

// ---- Names ----

std::string GraphWriter::Unique(std::string_view wanted) {
  std::string name(wanted.empty() ? "value" : wanted);
  for (size_t i = 1; !taken_.insert(name).second; ++i) name = Cat(wanted, "_", i);
  return name;
}

GraphWriter::Scope GraphWriter::NewScope(const graph::Graph& graph) {
  Scope scope{graph, std::vector<std::string>(graph.values.size()),
              graph::Marks(graph.values.size(), false), graph::Marks(graph.values.size(), false)};
  for (const graph::Node& node : graph.nodes) {
    for (const ValueId input : node.inputs) {
      if (input != kNone) scope.taken[input] = true;
    }
  }
  scope.used = scope.taken;
  for (const ValueId output : graph.outputs) scope.used[output] = true;
  return scope;
}

// Inputs and outputs have the names of the signature, whatever else is called so.
GraphWriter::Scope GraphWriter::MainScope() {
  const graph::Graph& graph = module_.main();
  Scope scope = NewScope(graph);
  for (const graph::Port& port : signature_.outputs) scope.used[port.value] = true;
  for (const graph::Port& port : signature_.inputs) {
    std::string& name = scope.names[port.value];
    if (!name.empty()) {
      problems_.Add(Cat("the inputs '", name, "' and '", port.name, "' are one value"));
    }
    name = port.name;
    taken_.insert(port.name);
  }
  for (const graph::Port& port : signature_.outputs) {
    std::string& name = scope.names[port.value];
    if (name == port.name) continue;
    if (!taken_.insert(port.name).second) {
      problems_.Add(Cat("an input and an output are both called '", port.name, "'"));
    }
    if (!name.empty() || !CanBeCalled(graph, port)) continue;
    name = port.name;
    scope.taken[port.value] = true;
  }
  for (ValueId input : graph.inputs) {
    if (!scope.names[input].empty()) continue;
    problems_.Add(Cat("the input '", graph.values[input].name, "' is none of the signature '",
                      signature_.name, "', which needs it; add it there"));
  }
  NameRest(scope);
  return scope;
}

GraphWriter::Scope GraphWriter::BodyScope(const graph::Graph& body,
                                          std::span<const std::string> outer) {
  Scope scope = NewScope(body);
  const size_t own = body.inputs.size() - outer.size();
  for (size_t i = 0; i < outer.size(); ++i) scope.names[body.inputs[own + i]] = outer[i];
  NameRest(scope);
  return scope;
}

void GraphWriter::NameRest(Scope& scope) {
  for (const graph::Node& node : scope.graph.nodes) {
    if (IsRead(module_.OperatorOf(node))) NameVariable(scope, node);
  }
  for (ValueId id = 0; id < scope.names.size(); ++id) {
    if (scope.names[id].empty()) scope.names[id] = Unique(scope.graph.values[id].name);
  }
}

// The variable that a node reads; kNone for other nodes.
uint32_t GraphWriter::ReadBy(const graph::Node& node) const {
  if (!IsRead(module_.OperatorOf(node)) || node.outputs.empty()) return kNone;
  const auto index = static_cast<uint64_t>(node.Int("variable", -1));
  const bool known = index < module_.variables.size() && node.outputs[0] != kNone;
  return known ? static_cast<uint32_t>(index) : kNone;
}

// Whether an output's value can have its name, so that no Identity is needed between them.
bool GraphWriter::CanBeCalled(const graph::Graph& graph, const graph::Port& output) {
  const graph::Value& value = graph.values[output.value];
  if (value.constant != kNone || IsMade(graph, output.value)) return true;
  if (value.producer == kNone) return false;
  const uint32_t variable = ReadBy(graph.nodes[value.producer]);
  if (variable == kNone || module_.variables[variable].name != output.name) return false;
  variables_[variable] = output.name;
  return true;
}

// What a read gives is the initializer itself.
void GraphWriter::NameVariable(Scope& scope, const graph::Node& read) {
  const uint32_t index = ReadBy(read);
  if (index == kNone) return;
  const graph::Variable& variable = module_.variables[index];
  if (variable.initial_constant == kNone) {
    problems_.Add(Cat("the variable '", variable.name,
                      "' begins with what a graph computes; export a session that has its values"));
    return;
  }
  const auto [known, added] = variables_.try_emplace(index);
  if (added) known->second = Unique(variable.name);
  scope.names[read.outputs[0]] = known->second;
}

// ---- Graphs ----

Rope GraphWriter::Contents(const Scope& scope, std::span<const ValueId> inputs,
                           std::span<const Output> outputs) {
  Rope graph;
  AddNodes(scope, graph);
  for (const Output& output : outputs) {
    if (scope.names[output.value] == output.name) continue;
    graph.Message(GraphProto_node, Again(scope, output));
  }
  for (const ValueId input : inputs) {
    graph.Message(GraphProto_input, ValueInfo(scope.names[input], scope.graph.values[input].type));
  }
  for (const Output& output : outputs) {
    graph.Message(GraphProto_output, ValueInfo(output.name, scope.graph.values[output.value].type));
  }
  AddInitializers(scope, graph);
  return graph;
}

// A node that makes an output of a value that is called otherwise.
Rope GraphWriter::Again(const Scope& scope, const Output& output) {
  const uint32_t constant = scope.graph.values[output.value].constant;
  Rope node;
  if (constant == kNone) node.Text(NodeProto_input, scope.names[output.value]);
  node.Text(NodeProto_output, output.name);
  node.Text(NodeProto_op_type, constant == kNone ? "Identity" : "Constant");
  if (constant != kNone) {
    Rope value;
    value.Text(AttributeProto_name, "value");
    value.Int(AttributeProto_type, AttributeProto::kTensor);
    value.Message(AttributeProto_t, TensorOf(module_.constants[constant], {}));
    node.Message(NodeProto_attribute, std::move(value));
  }
  return node;
}

Rope GraphWriter::Body(const Scope& around, const graph::Node& node, uint32_t body,
                       size_t captured) {
  const graph::Graph& graph = module_.graphs[body];
  std::vector<std::string> outer;
  for (size_t i = node.inputs.size() - captured; i < node.inputs.size(); ++i) {
    outer.push_back(node.inputs[i] == kNone ? std::string() : around.names[node.inputs[i]]);
  }
  if (captured > graph.inputs.size()) {
    problems_.Add(Cat("a body has ", graph.inputs.size(), " inputs, and ", captured,
                      " values are captured for it; the file is damaged"),
                  node.name);
    return {};
  }
  Scope scope = BodyScope(graph, outer);
  std::vector<Output> outputs;
  graph::Marks given(graph.values.size(), false);
  for (const ValueId value : graph.outputs) {
    // An output is made within the body, and once.
    const bool constant = graph.values[value].constant != kNone && !scope.taken[value];
    const bool own = (IsMade(graph, value) || constant) && !given[value];
    given[value] = true;
    outputs.push_back({own ? scope.names[value] : Unique(scope.names[value]), value});
    if (constant) scope.names[value].clear();  // nothing else has it
  }
  const std::span inputs(graph.inputs);
  Rope out = Contents(scope, inputs.first(inputs.size() - captured), outputs);
  out.Text(GraphProto_name, Unique(Cat(node.name, "/body")));
  return out;
}

void GraphWriter::AddNodes(const Scope& scope, Rope& graph) {
  const auto order = graph::TopologicalOrder(scope.graph);
  if (!order.ok()) return problems_.Add(std::string(order.status().message()));
  for (const graph::NodeId id : *order) {
    if (Stopped()) return;
    const graph::Node& node = scope.graph.nodes[id];
    if (!IsRead(module_.OperatorOf(node))) AddNode(scope, node, graph);
  }
}

bool GraphWriter::Stopped() {
  if (++written_ <= kMostNodes) return limits_ != nullptr && !limits_->Check().ok();
  if (written_ == kMostNodes + 1) {
    problems_.Add(Cat("written one by one, the bodies have more than ", kMostNodes, " nodes"));
  }
  return true;
}

bool GraphWriter::MayWrite(const graph::Node& node, const graph::Operator& op) {
  if (!op.domain.starts_with("headrace.")) return true;
  problems_.Add(Cat("ONNX has no operator ", OperatorName(op), "; ", WayOut(op)), node.name);
  return false;
}

size_t GraphWriter::CapturedBy(const graph::Node& node, const graph::Operator& op) {
  if (!HasBodies(node)) return 0;
  const size_t all = op.name == "If" ? std::max<size_t>(node.inputs.size(), 1) - 1 : 0;
  const auto captured = static_cast<uint64_t>(node.Int("captured", static_cast<int64_t>(all)));
  if (captured <= node.inputs.size()) return captured;
  problems_.Add("more values are captured than there are inputs; the file is damaged", node.name);
  return 0;
}

void GraphWriter::AddNode(const Scope& scope, const graph::Node& node, Rope& graph) {
  const graph::Operator& op = module_.OperatorOf(node);
  if (!MayWrite(node, op)) return;
  const size_t captured = CapturedBy(node, op);
  Rope out;
  for (size_t i = 0; i + captured < node.inputs.size(); ++i) {
    const ValueId input = node.inputs[i];
    out.Text(NodeProto_input, input == kNone ? std::string_view() : scope.names[input]);
  }
  for (const ValueId output : node.outputs) {
    const bool wanted = output != kNone && scope.used[output];
    out.Text(NodeProto_output, wanted ? scope.names[output] : std::string_view());
  }
  out.Text(NodeProto_op_type, op.name);
  if (!node.name.empty()) out.Text(NodeProto_name, node.name);
  if (!op.domain.empty()) out.Text(NodeProto_domain, op.domain);
  if (op.domain.empty() && op.name == "Optional" && node.inputs.empty()) {
    out.Message(NodeProto_attribute, TypeOfNothing(node));
  }
  for (const graph::Attribute& attribute : node.attributes) {
    if (IsOurs(op, attribute.name)) continue;
    out.Message(NodeProto_attribute, Attribute(scope, node, attribute, captured));
  }
  graph.Message(GraphProto_node, std::move(out));
  used_[node.op] = true;
  ++operators_[OperatorName(op)];
}

// What an empty optional could hold.
Rope GraphWriter::TypeOfNothing(const graph::Node& node) {
  const bool sequence = node.Int("sequence", 0) != 0;
  const auto dtype = node.Int("dtype", static_cast<int64_t>(DType::kFloat32));
  graph::ValueType type = graph::ValueType::Unranked(static_cast<DType>(dtype));
  if (sequence) type.kind = graph::ValueKind::kSequence;
  Rope out;
  out.Text(AttributeProto_name, "type");
  out.Int(AttributeProto_type, AttributeProto::kTypeProto);
  out.Message(AttributeProto_tp, Type(type));
  return out;
}

Rope GraphWriter::Attribute(const Scope& scope, const graph::Node& node,
                            const graph::Attribute& attribute, size_t captured) {
  Rope out;
  out.Text(AttributeProto_name, attribute.name);
  std::visit(AttributeText{out}, attribute.value);
  if (const auto* tensor = std::get_if<graph::TensorIndex>(&attribute.value)) {
    out.Message(AttributeProto_t, TensorOf(module_.constants[tensor->index], {}));
  }
  if (const auto* body = std::get_if<graph::GraphIndex>(&attribute.value)) {
    out.Message(AttributeProto_g, Body(scope, node, body->index, captured));
  }
  return out;
}

// ---- Tensors and types ----

void GraphWriter::AddInitializers(const Scope& scope, Rope& graph) {
  for (ValueId id = 0; id < scope.names.size(); ++id) {
    const graph::Value& value = scope.graph.values[id];
    if (value.constant == kNone || !scope.taken[id]) continue;
    const Tensor& tensor = module_.constants[value.constant];
    graph.Message(GraphProto_initializer, TensorOf(tensor, scope.names[id]));
  }
}

void GraphWriter::AddVariables(Rope& graph) {
  for (const auto& [index, name] : variables_) {
    const uint32_t constant = module_.variables[index].initial_constant;
    graph.Message(GraphProto_initializer, TensorOf(module_.constants[constant], name));
  }
}

Rope GraphWriter::TensorOf(const Tensor& tensor, std::string_view name) {
  Rope out;
  out.Ints(TensorProto_dims, tensor.dims());
  out.Int(TensorProto_data_type, static_cast<int64_t>(tensor.dtype()));
  if (!name.empty()) out.Text(TensorProto_name, name);
  data_(tensor, out);
  return out;
}

Rope GraphWriter::ValueInfo(std::string_view name, const graph::ValueType& type) {
  Rope out;
  out.Text(ValueInfoProto_name, name);
  out.Message(ValueInfoProto_type, Type(type));
  return out;
}

Rope GraphWriter::Type(const graph::ValueType& type) {
  Rope out;
  if (type.kind == graph::ValueKind::kSequence || type.kind == graph::ValueKind::kOptional) {
    graph::ValueType element = type;
    element.kind = graph::ValueKind::kTensor;
    const bool sequence = type.kind == graph::ValueKind::kSequence;
    Rope outer;
    outer.Message(sequence ? TypeProto_Sequence_elem_type : TypeProto_Optional_elem_type,
                  Type(element));
    out.Message(sequence ? TypeProto_sequence_type : TypeProto_optional_type, std::move(outer));
    return out;
  }
  Rope tensor;
  tensor.Int(TypeProto_Tensor_elem_type, static_cast<int64_t>(type.dtype));
  if (type.ranked) {
    Rope shape;
    for (const graph::Dim& dim : type.dims) {
      Rope size;
      if (dim.fixed()) size.Int(Dimension_dim_value, dim.size);
      if (dim.symbol != kNone) size.Text(Dimension_dim_param, module_.symbols[dim.symbol].name);
      shape.Message(TensorShapeProto_dim, std::move(size));
    }
    tensor.Message(TypeProto_Tensor_shape, std::move(shape));
  }
  out.Message(TypeProto_tensor_type, std::move(tensor));
  return out;
}

}  // namespace hr::onnx
