#include "capi/src/graph_text.h"
#include "runtime/base/errors.h"
#include "runtime/base/json_writer.h"

namespace hr::capi {

void WriteAttribute(JsonWriter& json, const graph::AttributeValue& value) {
  std::visit(
      [&](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, graph::TensorIndex>) {
          json.BeginObject().Field("constant", v.index).EndObject();
        } else if constexpr (std::is_same_v<T, graph::GraphIndex>) {
          json.BeginObject().Field("graph", v.index).EndObject();
        } else if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double>) {
          json.Value(v);
        } else if constexpr (std::is_same_v<T, std::string>) {
          json.Value(std::string_view(v));
        } else {
          json.BeginArray();
          for (const auto& item : v) json.Value(item);
          json.EndArray();
        }
      },
      value);
}

namespace {

void WriteValues(JsonWriter& json, const char* key, const graph::Graph& graph,
                 const std::vector<graph::ValueId>& values) {
  json.Key(key).BeginArray();
  for (graph::ValueId value : values) {
    if (value == graph::kNone) {
      json.Null();
    } else {
      json.Value(std::string_view(graph::ValueText(graph, value)));
    }
  }
  json.EndArray();
}

// The names of the variables that the node reads, or writes.
void WriteVariables(JsonWriter& json, std::string_view key, const GraphView& view,
                    std::span<const ops::VariableUse> uses, bool ops::VariableUse::*used) {
  bool any = false;
  for (const ops::VariableUse& use : uses) {
    if (!(use.*used)) continue;
    if (!std::exchange(any, true)) json.Key(key).BeginArray();
    json.Value(view.module.variables[static_cast<size_t>(use.variable)].name);
  }
  if (any) json.EndArray();
}

void WriteNode(JsonWriter& json, const GraphView& view, graph::NodeId id) {
  const graph::Node& node = view.graph.nodes[id];
  const graph::Operator& op = view.module.OperatorOf(node);
  json.BeginObject()
      .Field("id", id)
      .Field("name", graph::NodeText(view.module, view.graph, id))
      .Field("domain", op.domain)
      .Field("op", op.name)
      .Field("version", op.version);
  if (!node.device.empty()) json.Field("device", node.device);
  WriteValues(json, "inputs", view.graph, node.inputs);
  WriteValues(json, "outputs", view.graph, node.outputs);
  if (const ops::OpDef* def = view.operators.Find(op.domain, op.name, op.version)) {
    std::vector<ops::VariableUse> uses = ops::VariablesOf(*def, node);
    WriteVariables(json, "reads", view, uses, &ops::VariableUse::reads);
    WriteVariables(json, "writes", view, uses, &ops::VariableUse::writes);
  }
  json.Key("controls").BeginArray();
  for (graph::NodeId control : node.controls)
    json.Value(std::string_view(graph::NodeText(view.module, view.graph, control)));
  json.EndArray().Key("attributes").BeginObject();
  for (const graph::Attribute& attribute : node.attributes) {
    json.Key(attribute.name);
    WriteAttribute(json, attribute.value);
  }
  json.EndObject().EndObject();
}

}  // namespace

std::string GraphJson(const GraphView& view) {
  JsonWriter json;
  json.BeginObject().Key("nodes").BeginArray();
  for (graph::NodeId id : view.order) {
    if (view.nodes[id]) WriteNode(json, view, id);
  }
  json.EndArray().Key("values").BeginArray();
  for (graph::ValueId id = 0; id < view.graph.values.size(); ++id) {
    if (!view.values[id]) continue;
    const graph::Value& value = view.graph.values[id];
    json.BeginObject()
        .Field("id", id)
        .Field("name", graph::ValueText(view.graph, id))
        .Field("type", graph::TypeText(value.type, view.module.symbols))
        .Field("constant", value.constant != graph::kNone)
        .EndObject();
  }
  json.EndArray().EndObject();
  return json.Take();
}

}  // namespace hr::capi
