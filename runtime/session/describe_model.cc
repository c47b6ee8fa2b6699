#include "runtime/session/describe_model.h"

#include <map>

#include "runtime/base/errors.h"
#include "runtime/base/json_writer.h"

namespace hr::session {
namespace {

using graph::Module;

// Sizes are numbers, named dimensions text, unknown ones null.
void WriteDims(JsonWriter& json, const graph::ValueType& type, const Module& module) {
  json.Key("dims");
  if (!type.ranked) {
    json.Null();
    return;
  }
  json.BeginArray();
  for (const graph::Dim& dim : type.dims) {
    if (dim.fixed()) {
      json.Value(dim.size);
    } else if (dim.symbol != graph::kNone) {
      json.Value(module.symbols[dim.symbol].name);
    } else {
      json.Null();
    }
  }
  json.EndArray();
}

void WritePorts(JsonWriter& json, const char* key, const Module& module,
                std::span<const graph::Port> ports) {
  json.Key(key).BeginArray();
  for (const graph::Port& port : ports) {
    const graph::ValueType& type = module.main().values[port.value].type;
    json.BeginObject()
        .Field("name", port.name)
        .Field("id", port.value)
        .Field("value", graph::ValueText(module.main(), port.value))
        .Field("type", graph::TypeText(type, module.symbols))
        .Field("dtype", DTypeName(type.dtype));
    WriteDims(json, type, module);
    json.EndObject();
  }
  json.EndArray();
}

void WriteSignatures(JsonWriter& json, const Module& module) {
  json.Key("signatures").BeginArray();
  for (const graph::Signature& signature : module.signatures) {
    json.BeginObject().Field("name", signature.name);
    WritePorts(json, "inputs", module, signature.inputs);
    WritePorts(json, "outputs", module, signature.outputs);
    json.Key("targets").BeginArray();
    for (graph::NodeId target : signature.targets)
      json.Value(graph::NodeText(module, module.main(), target));
    json.EndArray().EndObject();
  }
  json.EndArray();
}

// How a variable begins: as a constant, or as what the last node of its graph makes.
void WriteInitial(JsonWriter& json, const graph::Variable& variable, const Module& module) {
  json.Key("initial").BeginObject();
  if (variable.initial_constant != graph::kNone) {
    json.Field("constant", variable.initial_constant);
  } else {
    const graph::Graph& graph = module.graphs[variable.initial_graph];
    json.Field("graph", variable.initial_graph);
    graph::NodeId producer = graph.values[graph.outputs[0]].producer;
    if (producer != graph::kNone) json.Field("op", module.OperatorOf(graph.nodes[producer]).name);
  }
  json.EndObject();
}

void WriteVariables(JsonWriter& json, const Module& module) {
  json.Key("variables").BeginArray();
  for (const graph::Variable& variable : module.variables) {
    json.BeginObject().Field("name", variable.name).Field("dtype", DTypeName(variable.dtype));
    json.Key("dims").Values(std::span<const int64_t>(variable.dims));
    json.Field("bytes",
               static_cast<size_t>(ElementCount(variable.dims)) * DTypeSize(variable.dtype))
        .Field("trainable", variable.trainable);
    WriteInitial(json, variable, module);
    json.EndObject();
  }
  json.EndArray();
}

void WriteConstants(JsonWriter& json, const Module& module) {
  size_t bytes = 0;
  for (const Tensor& constant : module.constants) bytes += constant.bytes();
  json.Key("constants")
      .BeginObject()
      .Field("count", module.constants.size())
      .Field("bytes", bytes)
      .EndObject();
}

void WriteSymbols(JsonWriter& json, const Module& module) {
  json.Key("symbols").BeginArray();
  for (const graph::Symbol& symbol : module.symbols) {
    json.BeginObject().Field("name", symbol.name).Field("min", symbol.min).Key("max");
    if (symbol.max == graph::kUnknownDim) {
      json.Null();
    } else {
      json.Value(symbol.max);
    }
    json.Key("buckets").Values(std::span<const int64_t>(symbol.buckets)).EndObject();
  }
  json.EndArray();
}

// What each graph is for, by those that refer to it.
std::vector<std::string> UsesOfGraphs(const Module& module) {
  std::vector<std::string> uses(module.graphs.size());
  uses[0] = "main";
  for (const graph::Variable& variable : module.variables) {
    if (variable.initial_graph != graph::kNone)
      uses[variable.initial_graph] = Cat("initial value of '", variable.name, "'");
  }
  for (const graph::Graph& graph : module.graphs) {
    for (graph::NodeId id = 0; id < graph.nodes.size(); ++id) {
      for (const graph::Attribute& attribute : graph.nodes[id].attributes) {
        if (const auto* body = std::get_if<graph::GraphIndex>(&attribute.value)) {
          uses[body->index] = Cat(attribute.name, " of '", graph::NodeText(module, graph, id), "'");
        }
      }
    }
  }
  return uses;
}

void WriteGraphs(JsonWriter& json, const Module& module) {
  std::vector<std::string> uses = UsesOfGraphs(module);
  json.Key("graphs").BeginArray();
  for (size_t i = 0; i < module.graphs.size(); ++i) {
    json.BeginObject()
        .Field("use", uses[i])
        .Field("nodes", module.graphs[i].nodes.size())
        .Field("values", module.graphs[i].values.size())
        .EndObject();
  }
  json.EndArray();
}

void WriteOperators(JsonWriter& json, const Module& module) {
  std::map<std::string, int32_t, std::less<>> counts;
  for (const graph::Node& node : module.main().nodes) {
    const graph::Operator& op = module.OperatorOf(node);
    ++counts[op.domain.empty() ? op.name : Cat(op.domain, ".", op.name)];
  }
  json.Key("operators").BeginObject();
  for (const auto& [name, count] : counts) json.Key(name).Value(count);
  json.EndObject();
}

}  // namespace

std::string DescribeModel(const Module& module) {
  JsonWriter json;
  json.BeginObject().Field("producer", module.producer).Key("opsets").BeginObject();
  for (const auto& [domain, version] : module.opsets) json.Key(domain).Value(version);
  json.EndObject().Key("metadata").BeginObject();
  for (const auto& [key, value] : module.metadata) json.Key(key).Value(value);
  json.EndObject();
  WriteSignatures(json, module);
  WriteVariables(json, module);
  WriteConstants(json, module);
  WriteSymbols(json, module);
  WriteGraphs(json, module);
  WriteOperators(json, module);
  json.Field("nodes", module.main().nodes.size())
      .Field("values", module.main().values.size())
      .EndObject();
  return json.Take();
}

}  // namespace hr::session
