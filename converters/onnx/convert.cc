#include "converters/onnx/convert.h"

#include <algorithm>

#include "converters/onnx/graph_converter.h"
#include "runtime/base/json_writer.h"
#include "runtime/base/utf8.h"

namespace hr::onnx {
namespace {

size_t BytesOf(const graph::Module& module, bool variables) {
  size_t bytes = 0;
  const graph::Marks initial = module.InitialConstants();
  for (size_t i = 0; i < module.constants.size(); ++i) {
    if ((initial[i] != 0) == variables) bytes += module.constants[i].bytes();
  }
  return bytes;
}

// Some exporters pad their name with zero bytes, which no text of a graph file may hold.
std::string ProducerOf(const ModelProto& model) {
  if (model.producer_name.empty()) return "unknown";
  const std::string name = EscapedUtf8(model.producer_name);
  return model.producer_version.empty() ? name
                                        : Cat(name, " ", EscapedUtf8(model.producer_version));
}

// As the file states them: that is what its operators mean.
void StateOpsets(const ModelProto& model, graph::Module* module) {
  for (const OpsetProto& opset : model.opsets) {
    const bool used = opset.domain.empty() || module->opsets.contains(opset.domain);
    const auto version = static_cast<int32_t>(std::clamp<int64_t>(opset.version, 1, INT32_MAX));
    if (used) module->opsets[std::string(opset.domain)] = version;
  }
}

// The rank of an output that follows from data alone is known from the file.
void StateRanks(const ModelProto& model, graph::Module* module) {
  for (const ValueInfoProto& info : model.graph.outputs) {
    for (const graph::Port& port : module->signatures[0].outputs) {
      graph::ValueType& type = module->main().values[port.value].type;
      if (port.name != info.name || type.ranked || !info.ranked) continue;
      if (type.kind != graph::ValueKind::kTensor || info.kind != "tensor") continue;
      type.ranked = true;
      type.dims.resize(info.dims.size());
    }
  }
}

std::string Report(const ModelProto& model, const graph::Module& module,
                   const GraphConverter& converter) {
  JsonWriter json;
  json.BeginObject();
  json.Field("producer", ProducerOf(model));
  json.Field("ir_version", model.ir_version);
  json.Key("opsets").BeginObject();
  for (const OpsetProto& opset : model.opsets) {
    json.Key(opset.domain.empty() ? std::string_view("ai.onnx") : opset.domain)
        .Value(opset.version);
  }
  json.EndObject();
  json.Field("nodes", module.main().nodes.size());
  json.Key("operators").BeginObject();
  for (const auto& [name, count] : converter.operators()) json.Key(name).Value(count);
  json.EndObject();
  json.Field("variables", module.variables.size());
  json.Field("variable_bytes", BytesOf(module, true));
  json.Field("constant_bytes", BytesOf(module, false));
  json.Key("inputs").BeginArray();
  for (const graph::Port& port : module.signatures[0].inputs) json.Value(port.name);
  json.EndArray();
  json.Key("outputs").BeginArray();
  for (const graph::Port& port : module.signatures[0].outputs) json.Value(port.name);
  json.EndArray();
  json.EndObject();
  return json.Take();
}

}  // namespace

Result<Converted> Convert(const std::string& path, const ops::OpRegistry& registry,
                          const ConvertOptions& options) {
  HR_ASSIGN_OR_RETURN(auto&& file, format::MapFile(path, *options.allocator));
  format::PageWalk walk(file);
  auto parsed = ParseModel(file.view(), [&](std::string_view read) { walk.Passed(AsBytes(read)); });
  if (!parsed.ok()) return std::move(parsed).status().WithContext(path);
  const ModelProto& model = *parsed;
  TensorReader tensors(path, file, *options.allocator);
  transform::GraphBuilder builder(*options.allocator, registry);
  GraphConverter converter(model, tensors, builder, options);
  if (Status status = converter.Convert(); !status.ok()) return std::move(status).WithContext(path);
  for (const auto& [key, value] : model.metadata) builder.SetMetadata(key, value);
  HR_ASSIGN_OR_RETURN(auto&& module, builder.Finish());
  StateOpsets(model, &module);
  StateRanks(model, &module);
  module.producer = Cat("ONNX of ", ProducerOf(model));
  std::string report = Report(model, module, converter);
  return Converted{std::move(module), std::move(report), tensors.mapped()};
}

}  // namespace hr::onnx
