#include "converters/onnx/graph_converter.h"

#include <algorithm>

#include "runtime/base/errors.h"

namespace hr::onnx {
namespace {

using graph::kNone;
using graph::ValueId;

// Functions may call each other, each several times: a small file could be nodes without end.
constexpr size_t kMostNodesOfFunctions = 1 << 18;

std::string Called(const NodeProto& node) {
  if (!node.name.empty()) return std::string(node.name);
  return node.outputs.empty() ? std::string(node.op_type) : Cat("that makes ", node.outputs[0]);
}

std::string OperatorName(const NodeProto& node) {
  return node.domain.empty() ? std::string(node.op_type) : Cat(node.domain, ".", node.op_type);
}

// The nearest way out for an operator that there is not.
std::string WayOut(const NodeProto& node) {
  const std::string_view op = node.op_type;
  if (node.domain == "com.microsoft") {
    return "it comes from ONNX Runtime's optimizer; convert the model as it was exported";
  }
  if (node.domain == "ai.onnx.ml" && node.op_type == "ZipMap") {
    return "it makes dictionaries of a classifier's scores; export with tensors instead (skl2onnx: "
           "options={'zipmap': False}), or cut the model before it";
  }
  if (!node.domain.empty() && node.domain != "ai.onnx.ml") {
    return "convert a model without custom operators, or add it as a custom operator and a graph";
  }
  if (op.find("Sequence") != op.npos || op.find("Optional") != op.npos) {
    return "export the model with tensors only";
  }
  if (op.find("String") != op.npos || op == "TfIdfVectorizer" || op == "RegexFullMatch") {
    return "do the work on text in the host";
  }
  return "export it with other operators";
}

Functions FunctionsOf(const ModelProto& model) {
  Functions out;
  for (const FunctionProto& function : model.functions) {
    out[{function.domain, function.name}] = &function;
  }
  return out;
}

}  // namespace

GraphConverter::GraphConverter(const ModelProto& model, TensorReader& tensors,
                               transform::GraphBuilder& builder, const ConvertOptions& options)
    : model_(model),
      tensors_(tensors),
      builder_(builder),
      options_(options),
      functions_(FunctionsOf(model)),
      roles_(model.graph, functions_) {
  for (const OpsetProto& opset : model.opsets) opsets_[opset.domain] = opset.version;
  signature_.name = "infer";
}

Status GraphConverter::Convert() {
  Scope scope = {.opsets = &opsets_};
  if (model_.graph.sparse_initializers != 0) {
    problems_.Add(Cat(model_.graph.sparse_initializers,
                      " weights are sparse; export the model with dense weights"));
  }
  AddInitializers(scope);
  AddInputs(scope);
  AddNodes(scope, model_.graph.nodes);
  if (options_.limits != nullptr) HR_RETURN_IF_ERROR(options_.limits->Check());
  AddOutputs(scope);
  HR_RETURN_IF_ERROR(problems_.ToStatus());
  return builder_.AddSignature(signature_);
}

// ---- Weights, inputs, outputs ----

void GraphConverter::AddInitializers(Scope& scope) {
  for (const TensorProto& proto : model_.graph.initializers) {
    auto value = AddInitializer(proto);
    if (value.ok()) {
      scope.values[proto.name] = *value;
    } else {
      problems_.Add(std::string(value.status().message()));
      missing_.insert(proto.name);
    }
  }
}

Result<ValueId> GraphConverter::AddInitializer(const TensorProto& proto) {
  if (options_.limits != nullptr) HR_RETURN_IF_ERROR(options_.limits->Check());
  HR_ASSIGN_OR_RETURN(auto&& tensor, tensors_.Read(proto));
  return AddTensor(proto.name, proto.name, std::move(tensor));
}

// A tensor of the main graph: a weight becomes a variable. One of 8-bit floats is not trained.
Result<ValueId> GraphConverter::AddTensor(std::string_view name, const std::string& unique,
                                          Tensor tensor) {
  const bool floating = IsFloating(tensor.dtype());
  const bool large = tensor.elements() > 1 || roles_.IsWeight(name);
  const bool weight = (floating || IsFloat8(tensor.dtype())) && large && !options_.constants &&
                      !roles_.IsKnown(name);
  if (!weight) return builder_.AddConstant(unique, std::move(tensor));
  const bool trainable = floating && !roles_.IsFrozen(name);
  HR_ASSIGN_OR_RETURN(const uint32_t variable,
                      builder_.AddVariable(unique, std::move(tensor), trainable));
  return builder_.Read(variable);
}

Result<graph::ValueType> GraphConverter::TypeOf(const ValueInfoProto& info) {
  if (info.kind != "tensor") {
    return Unimplemented("input '", info.name, "' is of the kind ", info.kind,
                         "; export the model with tensors only");
  }
  HR_ASSIGN_OR_RETURN(const DType dtype, ElementType("input", info.name, info.elem_type));
  graph::ValueType type = graph::ValueType::Unranked(dtype);
  type.ranked = info.ranked;
  for (const DimProto& dim : info.dims) {
    graph::Dim out;
    if (dim.size >= 0) out.size = dim.size;
    if (dim.size < 0 && !dim.name.empty() && dim.name != "?")
      out.symbol = builder_.AddSymbol(dim.name);
    type.dims.push_back(out);
  }
  return type;
}

void GraphConverter::AddInputs(Scope& scope) {
  for (const ValueInfoProto& info : model_.graph.inputs) {
    // Before version 4 of the format, weights were inputs, too.
    if (scope.values.contains(info.name) || missing_.contains(info.name)) continue;
    auto type = TypeOf(info);
    auto value =
        type.ok() ? builder_.AddInput(info.name, *type) : Result<ValueId>(std::move(type).status());
    if (!value.ok()) {
      problems_.Add(std::string(value.status().message()));
      missing_.insert(info.name);
      continue;
    }
    scope.values[info.name] = *value;
    signature_.inputs.push_back({std::string(info.name), *value});
  }
}

void GraphConverter::AddOutputs(const Scope& scope) {
  for (const ValueInfoProto& info : model_.graph.outputs) {
    const auto found = scope.values.find(info.name);
    if (found != scope.values.end()) {
      signature_.outputs.push_back({std::string(info.name), found->second});
    } else if (!missing_.contains(info.name)) {
      problems_.Add(Cat("no node makes the output '", info.name, "'; the file is damaged"));
    }
  }
}

// ---- Nodes ----

void GraphConverter::AddNodes(Scope& scope, const std::vector<NodeProto>& nodes) {
  for (const NodeProto& node : nodes) {
    if (options_.limits != nullptr && !options_.limits->Check().ok()) return;
    // What needs a value that is missing says nothing new.
    const bool blocked = std::any_of(node.inputs.begin(), node.inputs.end(), [&](auto input) {
      return missing_.contains(input) && !scope.values.contains(input);
    });
    Status status = blocked ? Status() : AddNode(scope, node);
    if (!status.ok()) problems_.Add(std::string(status.message()), Called(node));
    if (!blocked && status.ok()) continue;
    missing_.insert(node.outputs.begin(), node.outputs.end());
  }
}

const FunctionProto* GraphConverter::FindFunction(const NodeProto& node) const {
  const auto found = functions_.find({node.domain, node.op_type});
  return found == functions_.end() ? nullptr : found->second;
}

Result<int64_t> GraphConverter::VersionOf(const Scope& scope, const NodeProto& node) const {
  const auto found = scope.opsets->find(node.domain);
  if (found != scope.opsets->end()) return found->second;
  return InvalidArgument("the model does not say which version of the domain '", node.domain,
                         "' it uses; the file is damaged");
}

Status GraphConverter::AddNode(Scope& scope, const NodeProto& node) {
  if (const FunctionProto* function = FindFunction(node)) return AddCall(scope, node, *function);
  HR_ASSIGN_OR_RETURN(const int64_t version, VersionOf(scope, node));
  if (node.domain.empty() && version < 7) {
    return Unimplemented("the model has operator set ", version,
                         "; upgrade it to 9 or newer with onnx.version_converter");
  }
  if (node.domain.empty() && node.op_type == "Constant") return AddConstantNode(scope, node);
  return AddOperator(scope, node, version);
}

Result<std::vector<ValueId>> GraphConverter::InputsOf(const Scope& scope, const NodeProto& node) {
  std::vector<ValueId> inputs;
  for (const std::string_view name : node.inputs) {
    if (name.empty()) {
      inputs.push_back(kNone);
      continue;
    }
    const auto found = scope.values.find(name);
    if (found == scope.values.end()) {
      return InvalidArgument("nothing before the node makes its input '", name,
                             "'; the file is damaged, or its nodes are not in order");
    }
    inputs.push_back(found->second);
  }
  while (!inputs.empty() && inputs.back() == kNone) inputs.pop_back();
  return inputs;
}

Status GraphConverter::AddOperator(Scope& scope, const NodeProto& node, int64_t version) {
  const int asked = static_cast<int>(std::min<int64_t>(version, INT32_MAX));
  if (builder_.registry().Find(node.domain, node.op_type, asked) == nullptr) {
    return Unimplemented("there is no operator ", OperatorName(node),
                         node.domain.empty() ? Cat(" of operator set ", version) : std::string(),
                         "; ", WayOut(node));
  }
  if (IsControl(node)) return AddControl(scope, node, version);
  HR_ASSIGN_OR_RETURN(auto&& inputs, InputsOf(scope, node));
  HR_ASSIGN_OR_RETURN(auto&& attributes, AttributesOf(scope, node));
  return Emit(scope, node, version, std::move(inputs), std::move(attributes));
}

Status GraphConverter::Emit(Scope& scope, const NodeProto& node, int64_t version,
                            std::vector<ValueId> inputs, std::vector<graph::Attribute> attributes) {
  const int asked = static_cast<int>(std::min<int64_t>(version, INT32_MAX));
  size_t outputs = node.outputs.size();
  while (outputs > 1 && node.outputs[outputs - 1].empty()) --outputs;
  const std::string wanted =
      Cat(scope.prefix, node.name.empty() ? node.op_type : std::string_view(node.name));
  auto added = builder_.AddNode({.domain = std::string(node.domain),
                                 .op = std::string(node.op_type),
                                 .version = asked,
                                 .inputs = std::move(inputs),
                                 .outputs = outputs,
                                 .attributes = std::move(attributes),
                                 .name = builder_.UniqueName(wanted)});
  if (!added.ok()) return std::move(added).status();
  const std::vector<ValueId> values = builder_.graph().nodes[*added].outputs;
  for (size_t i = 0; i < outputs; ++i) {
    if (node.outputs[i].empty()) continue;
    scope.values[node.outputs[i]] = values[i];
    Name(scope, values[i], node.outputs[i]);
  }
  ++operators_[OperatorName(node)];
  return {};
}

// A name that is taken already (nodes and values share them here) stays with the first.
void GraphConverter::Name(const Scope& scope, ValueId value, std::string_view name) {
  const std::string wanted = Cat(scope.prefix, name);
  if (builder_.UniqueName(wanted) == wanted) {
    [[maybe_unused]] const Status renamed = builder_.RenameValue(value, wanted);
  }
}

Status GraphConverter::AddConstantNode(Scope& scope, const NodeProto& node) {
  if (node.outputs.size() != 1 || node.attributes.size() != 1) {
    return InvalidArgument("a Constant has one output and one attribute; the file is damaged");
  }
  const AttributeProto* attribute = Resolve(scope, node.attributes[0]);
  if (attribute == nullptr) return InvalidArgument("a Constant has no value");
  Allocator& allocator = *options_.allocator;
  Result<Tensor> tensor = Unimplemented("a Constant of the kind '", attribute->name,
                                        "' cannot be converted; only tensors and numbers can");
  const auto count = [](const auto& values) { return static_cast<int64_t>(values.size()); };
  if (attribute->t) {
    tensor = tensors_.Read(*attribute->t);
  } else if (attribute->name == "value_float") {
    tensor = MakeTensor<float>(allocator, {}, std::span(&attribute->f, 1));
  } else if (attribute->name == "value_int") {
    tensor = MakeTensor<int64_t>(allocator, {}, std::span(&attribute->i, 1));
  } else if (attribute->name == "value_ints") {
    tensor = MakeTensor<int64_t>(allocator, {count(attribute->ints)},
                                 std::span<const int64_t>(attribute->ints));
  } else if (attribute->name == "value_floats") {
    const std::vector<float> values(attribute->floats.begin(), attribute->floats.end());
    tensor = MakeTensor<float>(allocator, {count(values)}, std::span<const float>(values));
  }
  if (!tensor.ok()) return std::move(tensor).status();
  const std::string_view output = node.outputs[0];
  const std::string name = builder_.UniqueName(Cat(scope.prefix, output));
  // Some exporters keep all weights in such nodes. Each call of a function has its own copy of the
  // nodes in it, and a body's are made anew in every run: these are no weights.
  const bool main = scope.depth == 0 && builder_.current_graph() == 0;
  HR_ASSIGN_OR_RETURN(scope.values[output], main ? AddTensor(output, name, *std::move(tensor))
                                                 : builder_.AddConstant(name, *std::move(tensor)));
  ++operators_["Constant"];
  return {};
}

// ---- Attributes ----

const AttributeProto* GraphConverter::Resolve(const Scope& scope,
                                              const AttributeProto& attribute) const {
  if (attribute.ref.empty()) return &attribute;
  for (const auto* list : {scope.given, scope.defaults}) {
    if (list == nullptr) continue;
    for (const AttributeProto& other : *list) {
      if (other.name == attribute.ref) return &other;
    }
  }
  return nullptr;
}

Result<graph::AttributeValue> GraphConverter::ValueOf(const AttributeProto& attribute) {
  switch (attribute.type) {
    case AttributeProto::kFloat: return graph::AttributeValue(static_cast<double>(attribute.f));
    case AttributeProto::kInt: return graph::AttributeValue(attribute.i);
    case AttributeProto::kString: return graph::AttributeValue(std::string(attribute.s));
    case AttributeProto::kFloats: return graph::AttributeValue(attribute.floats);
    case AttributeProto::kInts: return graph::AttributeValue(attribute.ints);
    case AttributeProto::kStrings:
      return graph::AttributeValue(
          std::vector<std::string>(attribute.strings.begin(), attribute.strings.end()));
    default: break;
  }
  if (attribute.type != AttributeProto::kTensor || !attribute.t) {
    return Unimplemented("the attribute '", attribute.name,
                         "' is a graph, a type or sparse, which cannot be converted");
  }
  HR_ASSIGN_OR_RETURN(auto&& tensor, tensors_.Read(*attribute.t));
  HR_ASSIGN_OR_RETURN(const ValueId value, builder_.Constant(std::move(tensor)));
  return graph::AttributeValue(graph::TensorIndex{builder_.graph().values[value].constant});
}

// Attributes that say what is so anyway may be unknown to the definition.
bool SaysNothing(const AttributeProto& attribute) {
  return attribute.name == "consumed_inputs" || attribute.name == "training_mode_unused";
}

Result<std::vector<graph::Attribute>> GraphConverter::AttributesOf(const Scope& scope,
                                                                   const NodeProto& node) {
  std::vector<graph::Attribute> out;
  for (const AttributeProto& given : node.attributes) {
    const AttributeProto* attribute = Resolve(scope, given);
    if (attribute == nullptr || SaysNothing(*attribute)) continue;
    if (attribute->g != nullptr && IsControl(node)) continue;  // see AddControl
    if (attribute->tp && node.op_type == "Optional") {
      out.push_back({"dtype", int64_t{attribute->tp->elem_type}});
      out.push_back({"sequence", int64_t{attribute->tp->of_sequence}});
      continue;
    }
    HR_ASSIGN_OR_RETURN(auto&& value, ValueOf(*attribute));
    out.push_back({std::string(given.name), std::move(value)});
  }
  return out;
}

// ---- Functions ----

// The body in place of the call, with names below the call's.
Status GraphConverter::AddCall(Scope& scope, const NodeProto& node, const FunctionProto& function) {
  if (scope.depth >= kMostCalls) {
    return InvalidArgument("functions call each other deeper than ", kMostCalls);
  }
  nodes_of_functions_ += function.nodes.size();
  if (nodes_of_functions_ > kMostNodesOfFunctions) {
    return InvalidArgument("put in place of their calls, the functions have more than ",
                           kMostNodesOfFunctions, " nodes");
  }
  HR_ASSIGN_OR_RETURN(auto&& inputs, InputsOf(scope, node));
  Opsets opsets;
  for (const OpsetProto& opset : function.opsets) opsets[opset.domain] = opset.version;
  for (const auto& [domain, version] : opsets_) opsets.try_emplace(domain, version);
  Scope body = {
      .opsets = &opsets,
      .prefix =
          Cat(builder_.UniqueName(Cat(scope.prefix, node.name.empty() ? node.op_type : node.name)),
              "/"),
      .given = &node.attributes,
      .defaults = &function.defaults,
      .depth = scope.depth + 1};
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    if (i < inputs.size() && inputs[i] != kNone) body.values[function.inputs[i]] = inputs[i];
  }
  // Inputs that the call leaves out are left out in the body.
  std::vector<NodeProto> nodes = function.nodes;
  for (NodeProto& inner : nodes) {
    for (std::string_view& input : inner.inputs) {
      const auto at = std::find(function.inputs.begin(), function.inputs.end(), input);
      if (at != function.inputs.end() && !body.values.contains(input)) input = {};
    }
  }
  AddNodes(body, nodes);
  for (size_t i = 0; i < std::min(node.outputs.size(), function.outputs.size()); ++i) {
    const auto found = body.values.find(function.outputs[i]);
    if (found == body.values.end()) {
      if (problems_.empty()) {
        return InvalidArgument("the function ", function.name, " does not make its output '",
                               function.outputs[i], "'; the file is damaged");
      }
      missing_.insert(node.outputs[i]);
      continue;
    }
    scope.values[node.outputs[i]] = found->second;
  }
  return {};
}

}  // namespace hr::onnx
