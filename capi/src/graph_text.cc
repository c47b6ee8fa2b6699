#include "capi/src/graph_text.h"

#include "runtime/base/errors.h"
#include "runtime/base/json_writer.h"

namespace hr::capi {
namespace {

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

void WriteValues(JsonWriter& json, std::string_view key, const graph::Graph& graph,
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

std::string Json(const graph::Module& module) {
  const graph::Graph& graph = module.main();
  JsonWriter json;
  json.BeginObject().Key("nodes").BeginArray();
  for (graph::NodeId id = 0; id < graph.nodes.size(); ++id) {
    const graph::Node& node = graph.nodes[id];
    const graph::Operator& op = module.OperatorOf(node);
    json.BeginObject()
        .Field("name", graph::NodeText(module, graph, id))
        .Field("domain", op.domain)
        .Field("op", op.name)
        .Field("version", op.version);
    if (!node.device.empty()) json.Field("device", node.device);
    WriteValues(json, "inputs", graph, node.inputs);
    WriteValues(json, "outputs", graph, node.outputs);
    json.Key("controls").BeginArray();
    for (graph::NodeId control : node.controls) {
      json.Value(std::string_view(graph::NodeText(module, graph, control)));
    }
    json.EndArray().Key("attributes").BeginObject();
    for (const graph::Attribute& attribute : node.attributes) {
      json.Key(attribute.name);
      WriteAttribute(json, attribute.value);
    }
    json.EndObject().EndObject();
  }
  json.EndArray().Key("values").BeginArray();
  for (graph::ValueId id = 0; id < graph.values.size(); ++id) {
    json.BeginObject()
        .Field("name", graph::ValueText(graph, id))
        .Field("type", graph::TypeText(graph.values[id].type, module.symbols))
        .Field("constant", graph.values[id].constant != graph::kNone)
        .EndObject();
  }
  json.EndArray().EndObject();
  return json.Take();
}

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  out.push_back('"');
  return out;
}

std::string Dot(const graph::Module& module) {
  const graph::Graph& graph = module.main();
  std::string out =
      "digraph model {\n  rankdir=TB;\n  node [shape=box, fontname=\"sans-serif\"];\n";
  for (graph::ValueId input : graph.inputs) {
    out += Cat("  v", input, " [shape=ellipse, label=",
               Quoted(Cat(graph::ValueText(graph, input), "\n",
                          graph::TypeText(graph.values[input].type, module.symbols))),
               "];\n");
  }
  for (graph::NodeId id = 0; id < graph.nodes.size(); ++id) {
    const graph::Node& node = graph.nodes[id];
    out += Cat("  n", id, " [label=",
               Quoted(Cat(module.OperatorOf(node).name, "\n", graph::NodeText(module, graph, id))),
               "];\n");
    for (graph::ValueId value : node.inputs) {
      if (value == graph::kNone || graph.values[value].constant != graph::kNone) continue;
      graph::NodeId producer = graph.values[value].producer;
      std::string from = producer == graph::kNone ? Cat("v", value) : Cat("n", producer);
      out += Cat("  ", from, " -> n", id,
                 " [label=", Quoted(graph::TypeText(graph.values[value].type, module.symbols)),
                 "];\n");
    }
    for (graph::NodeId control : node.controls) {
      out += Cat("  n", control, " -> n", id, " [style=dashed];\n");
    }
  }
  return out + "}\n";
}

}  // namespace

Result<std::string> GraphText(const graph::Module& module, std::string_view format) {
  if (format == "json") return Json(module);
  if (format == "dot") return Dot(module);
  return InvalidArgument("expected the format 'json' or 'dot', got '", format, "'");
}

}  // namespace hr::capi
