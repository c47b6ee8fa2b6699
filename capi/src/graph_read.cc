// Reading a graph, also while it is built.
#include "capi/src/graph_handle.h"
#include "runtime/graph/unknown_name.h"

namespace hr::capi {
namespace {

// The entry of a view, which `make` fills when it is asked for first.
template <typename View, typename Make>
View& Viewed(std::map<const void*, View>& views, const void* of, Make make) {
  auto [at, added] = views.try_emplace(of);
  if (added) make(at->second);
  return at->second;
}

template <typename Items>
Result<uint32_t> FindNamed(const Items& items, Literal what, std::string_view name) {
  for (size_t i = 0; i < items.size() && !name.empty(); ++i) {
    if (items[i].name == name) return static_cast<uint32_t>(i);
  }
  return graph::UnknownName("graph", what, name, graph::NamesOf(items));
}

const int64_t* DimsOf(const hr_graph* graph, const graph::ValueType& type) {
  return Viewed(graph->views.dims, &type,
                [&](auto& out) {
                  for (const graph::Dim& dim : type.dims) out.push_back(dim.size);
                })
      .data();
}

const char* const* SymbolsOf(const hr_graph* graph, const graph::ValueType& type) {
  const auto& symbols = graph->rep.module().symbols;
  return Viewed(graph->views.names, &type,
                [&](auto& out) {
                  for (const graph::Dim& dim : type.dims) {
                    out.push_back(dim.symbol == graph::kNone ? nullptr
                                                             : symbols[dim.symbol].name.c_str());
                  }
                })
      .data();
}

const char* OperatorText(const hr_graph* graph, const graph::Operator& op) {
  return Viewed(
             graph->views.texts, &op,
             [&](auto& out) { out = op.domain.empty() ? op.name : Cat(op.domain, ".", op.name); })
      .c_str();
}

const char* const* NamesOfPorts(const hr_graph* graph, const std::vector<graph::Port>& ports) {
  return Viewed(graph->views.names, &ports,
                [&](auto& out) {
                  for (const graph::Port& port : ports) out.push_back(port.name.c_str());
                })
      .data();
}

const hr_value* ValuesOfPorts(const hr_graph* graph, const std::vector<graph::Port>& ports) {
  return Viewed(graph->views.numbers, &ports,
                [&](auto& out) {
                  for (const graph::Port& port : ports) out.push_back(port.value);
                })
      .data();
}

hr_graph_info InfoOf(const hr_graph* graph) {
  const graph::Module& module = graph->rep.module();
  return {.value_count = module.main().values.size(),
          .node_count = module.main().nodes.size(),
          .variable_count = module.variables.size(),
          .signature_count = module.signatures.size(),
          .input_count = module.main().inputs.size(),
          .inputs = module.main().inputs.data()};
}

hr_value_info InfoOf(const hr_graph* graph, const graph::Value& value) {
  return {.name = value.name.c_str(),
          .dtype = static_cast<hr_dtype>(value.type.dtype),
          .rank = value.type.ranked ? static_cast<int32_t>(value.type.dims.size()) : -1,
          .dims = DimsOf(graph, value.type),
          .symbols = SymbolsOf(graph, value.type),
          .producer = value.producer,
          .is_constant = value.constant == graph::kNone ? 0 : 1};
}

hr_node_info InfoOf(const hr_graph* graph, const graph::Node& node) {
  const graph::Operator& op = graph->rep.module().OperatorOf(node);
  return {.name = node.name.c_str(),
          .op = OperatorText(graph, op),
          .version = op.version,
          .device = node.device.c_str(),
          .input_count = node.inputs.size(),
          .inputs = node.inputs.data(),
          .output_count = node.outputs.size(),
          .outputs = node.outputs.data(),
          .control_count = node.controls.size(),
          .controls = node.controls.data(),
          .attribute_count = node.attributes.size()};
}

hr_variable_info InfoOf(const graph::Variable& variable) {
  return {.name = variable.name.c_str(),
          .dtype = static_cast<hr_dtype>(variable.dtype),
          .rank = static_cast<int32_t>(variable.dims.size()),
          .dims = variable.dims.data(),
          .trainable = variable.trainable ? 1 : 0};
}

hr_signature_info InfoOf(const hr_graph* graph, const graph::Signature& signature) {
  return {.name = signature.name.c_str(),
          .input_count = signature.inputs.size(),
          .input_names = NamesOfPorts(graph, signature.inputs),
          .inputs = ValuesOfPorts(graph, signature.inputs),
          .output_count = signature.outputs.size(),
          .output_names = NamesOfPorts(graph, signature.outputs),
          .outputs = ValuesOfPorts(graph, signature.outputs),
          .target_count = signature.targets.size(),
          .targets = signature.targets.data()};
}

// Gives the attribute of a node, or null if the node does not have it. One function for all kinds,
// for the sake of its size.
hr_status* FindAttribute(const hr_graph* graph, hr_node id, std::string_view name,
                         ops::AttributeKind kind, const graph::AttributeValue** out) {
  *out = nullptr;
  HR_WRAP_IF_ERROR(CheckNode(graph, id));
  const graph::Node& node = graph->rep.graph().nodes[id];
  for (const graph::Attribute& attribute : node.attributes) {
    if (attribute.name != name) continue;
    *out = &attribute.value;
    const auto found = static_cast<ops::AttributeKind>(attribute.value.index());
    if (found == kind) return nullptr;
    return Wrap(InvalidArgument("attribute '", name, "' of node '", node.name, "' is ",
                                ops::KindName(found), ", not ", ops::KindName(kind)));
  }
  return nullptr;
}

template <typename T>
hr_status* AttributeOf(const hr_graph* graph, hr_node node, const char* name, const T** out) {
  const auto kind = static_cast<ops::AttributeKind>(graph::AttributeValue(T()).index());
  const graph::AttributeValue* value;
  hr_status* failure = FindAttribute(graph, node, name, kind, &value);
  *out = failure == nullptr && value != nullptr ? std::get_if<T>(value) : nullptr;
  return failure;
}

template <typename T>
hr_status* GiveNumber(const hr_graph* graph, hr_node node, const char* name, T fallback, T* out) {
  const T* value;
  hr_status* failure = AttributeOf(graph, node, name, &value);
  *out = value == nullptr ? fallback : *value;
  return failure;
}

template <typename T>
hr_status* GiveList(const hr_graph* graph, hr_node node, const char* name, size_t* out_count,
                    const T** out_values) {
  const std::vector<T>* list;
  hr_status* failure = AttributeOf(graph, node, name, &list);
  *out_count = list == nullptr ? 0 : list->size();
  *out_values = list == nullptr ? nullptr : list->data();
  return failure;
}

// The constant as a tensor, or NULL if there is none.
hr_status* GiveConstant(const hr_graph* graph, uint32_t constant, hr_tensor** out) {
  *out = constant == graph::kNone ? nullptr : NewTensor(graph->rep.module().constants[constant]);
  return nullptr;
}

Status CheckSignature(const hr_graph* graph, size_t index) {
  size_t count = graph->rep.module().signatures.size();
  if (index < count) return {};
  return InvalidArgument("there is no signature ", index, "; the graph has ", count);
}

}  // namespace
}  // namespace hr::capi

using hr::capi::Give;
using hr::capi::GiveSized;
using hr::capi::InfoOf;
using hr::capi::Wrap;

extern "C" {

hr_status* hr_graph_get(const hr_graph* graph, hr_graph_info* out) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(out);
  return Wrap(GiveSized(InfoOf(graph), "hr_graph_info", out));
}

hr_status* hr_graph_get_value(const hr_graph* graph, hr_value value, hr_value_info* out) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(out);
  HR_WRAP_IF_ERROR(hr::capi::CheckValue(graph, value));
  return Wrap(GiveSized(InfoOf(graph, graph->rep.graph().values[value]), "hr_value_info", out));
}

hr_status* hr_graph_get_node(const hr_graph* graph, hr_node node, hr_node_info* out) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(out);
  HR_WRAP_IF_ERROR(hr::capi::CheckNode(graph, node));
  return Wrap(GiveSized(InfoOf(graph, graph->rep.graph().nodes[node]), "hr_node_info", out));
}

hr_status* hr_graph_get_variable(const hr_graph* graph, hr_variable variable,
                                 hr_variable_info* out) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(out);
  HR_WRAP_IF_ERROR(graph->rep.CheckVariable(variable));
  return Wrap(GiveSized(InfoOf(graph->rep.module().variables[variable]), "hr_variable_info", out));
}

hr_status* hr_graph_get_signature(const hr_graph* graph, size_t index, hr_signature_info* out) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(out);
  HR_WRAP_IF_ERROR(hr::capi::CheckSignature(graph, index));
  return Wrap(
      GiveSized(InfoOf(graph, graph->rep.module().signatures[index]), "hr_signature_info", out));
}

hr_status* hr_graph_get_attribute(const hr_graph* graph, hr_node node, size_t index,
                                  hr_attribute_info* out) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(out);
  HR_WRAP_IF_ERROR(hr::capi::CheckNode(graph, node));
  const auto& attributes = graph->rep.graph().nodes[node].attributes;
  if (index >= attributes.size()) {
    return Wrap(
        hr::InvalidArgument("there is no attribute ", index, "; the node has ", attributes.size()));
  }
  const hr_attribute_info info = {
      .name = attributes[index].name.c_str(),
      .kind = static_cast<hr_attribute_kind>(attributes[index].value.index())};
  return Wrap(GiveSized(info, "hr_attribute_info", out));
}

hr_status* hr_graph_find_value(const hr_graph* graph, const char* name, hr_value* out) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(name);
  HR_REQUIRE(out);
  return Give(out, hr::capi::FindNamed(graph->rep.graph().values, "value", name));
}

hr_status* hr_graph_find_node(const hr_graph* graph, const char* name, hr_node* out) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(name);
  HR_REQUIRE(out);
  return Give(out, hr::capi::FindNamed(graph->rep.graph().nodes, "node", name));
}

hr_status* hr_graph_find_variable(const hr_graph* graph, const char* name, hr_variable* out) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(name);
  HR_REQUIRE(out);
  return Give(out, hr::capi::FindNamed(graph->rep.module().variables, "variable", name));
}

hr_status* hr_graph_find_signature(const hr_graph* graph, const char* name, size_t* out) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(name);
  HR_REQUIRE(out);
  return Give(out, hr::capi::FindNamed(graph->rep.module().signatures, "signature", name));
}

hr_status* hr_graph_node_int(const hr_graph* graph, hr_node node, const char* name,
                             int64_t fallback, int64_t* out) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(name);
  HR_REQUIRE(out);
  return hr::capi::GiveNumber(graph, node, name, fallback, out);
}

hr_status* hr_graph_node_float(const hr_graph* graph, hr_node node, const char* name,
                               double fallback, double* out) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(name);
  HR_REQUIRE(out);
  return hr::capi::GiveNumber(graph, node, name, fallback, out);
}

hr_status* hr_graph_node_string(const hr_graph* graph, hr_node node, const char* name,
                                const char* fallback, const char** out) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(name);
  HR_REQUIRE(out);
  const std::string* value;
  hr_status* failure = hr::capi::AttributeOf(graph, node, name, &value);
  *out = value == nullptr ? fallback : value->c_str();
  return failure;
}

hr_status* hr_graph_node_ints(const hr_graph* graph, hr_node node, const char* name,
                              size_t* out_count, const int64_t** out_values) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(name);
  HR_REQUIRE(out_count);
  HR_REQUIRE(out_values);
  return hr::capi::GiveList(graph, node, name, out_count, out_values);
}

hr_status* hr_graph_node_floats(const hr_graph* graph, hr_node node, const char* name,
                                size_t* out_count, const double** out_values) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(name);
  HR_REQUIRE(out_count);
  HR_REQUIRE(out_values);
  return hr::capi::GiveList(graph, node, name, out_count, out_values);
}

hr_status* hr_graph_node_strings(const hr_graph* graph, hr_node node, const char* name,
                                 size_t* out_count, const char* const** out_values) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(name);
  HR_REQUIRE(out_count);
  HR_REQUIRE(out_values);
  const std::vector<std::string>* list;
  hr_status* failure = hr::capi::AttributeOf(graph, node, name, &list);
  *out_count = list == nullptr ? 0 : list->size();
  *out_values =
      list == nullptr ? nullptr : hr::capi::Viewed(graph->views.names, list, [&](auto& out) {
                                    for (const std::string& text : *list)
                                      out.push_back(text.c_str());
                                  }).data();
  return failure;
}

hr_status* hr_graph_node_tensor(const hr_graph* graph, hr_node node, const char* name,
                                hr_tensor** out) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(name);
  HR_REQUIRE(out);
  const hr::graph::TensorIndex* constant;
  hr_status* failure = hr::capi::AttributeOf(graph, node, name, &constant);
  if (failure != nullptr) return failure;
  return hr::capi::GiveConstant(graph, constant == nullptr ? hr::graph::kNone : constant->index,
                                out);
}

hr_status* hr_graph_value_tensor(const hr_graph* graph, hr_value value, hr_tensor** out) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(out);
  HR_WRAP_IF_ERROR(hr::capi::CheckValue(graph, value));
  return hr::capi::GiveConstant(graph, graph->rep.graph().values[value].constant, out);
}

hr_status* hr_graph_variable_tensor(const hr_graph* graph, hr_variable variable, hr_tensor** out) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(out);
  HR_WRAP_IF_ERROR(graph->rep.CheckVariable(variable));
  return hr::capi::GiveConstant(graph, graph->rep.module().variables[variable].initial_constant,
                                out);
}

hr_status* hr_graph_type_of(const hr_graph* graph, hr_value value, hr_text** out) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(out);
  HR_WRAP_IF_ERROR(hr::capi::CheckValue(graph, value));
  return hr::capi::WrapText(
      out, hr::graph::TypeText(graph->rep.graph().values[value].type, graph->rep.module().symbols));
}

}  // extern "C"
