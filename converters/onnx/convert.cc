#include "converters/onnx/convert.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "converters/onnx/graph_converter.h"
#include "runtime/base/json_writer.h"

namespace hr::onnx {
namespace {

size_t BytesOf(const graph::Module& module, bool variables) {
  size_t bytes = 0;
  std::vector<bool> initial(module.constants.size());
  for (const graph::Variable& variable : module.variables) {
    if (variable.initial_constant != graph::kNone) initial[variable.initial_constant] = true;
  }
  for (size_t i = 0; i < module.constants.size(); ++i) {
    if (initial[i] == variables) bytes += module.constants[i].bytes();
  }
  return bytes;
}

std::string ProducerOf(const ModelProto& model) {
  if (model.producer_name.empty()) return "unknown";
  if (model.producer_version.empty()) return std::string(model.producer_name);
  return Cat(model.producer_name, " ", model.producer_version);
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

void ForgetPages(const std::vector<Bytes>& mapped, Bytes bytes) {
  const bool inside = std::any_of(mapped.begin(), mapped.end(), [&](Bytes file) {
    return bytes.data() >= file.data() && bytes.data() + bytes.size() <= file.data() + file.size();
  });
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(bytes.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(bytes.data() + bytes.size()) / page * page;
  if (inside && end > begin) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

Result<Converted> Convert(const std::string& path, const ops::OpRegistry& registry,
                          const ConvertOptions& options) {
  HR_ASSIGN_OR_RETURN(auto&& file, MapFile(path, *options.allocator));
  auto parsed = ParseModel(file.view());
  if (!parsed.ok()) return std::move(parsed).status().WithContext(path);
  const ModelProto& model = *parsed;
  TensorReader tensors(path, file, *options.allocator);
  transform::GraphBuilder builder(*options.allocator, registry);
  GraphConverter converter(model, tensors, builder, options);
  if (Status status = converter.Convert(); !status.ok()) return std::move(status).WithContext(path);
  for (const auto& [key, value] : model.metadata) builder.SetMetadata(key, value);
  HR_ASSIGN_OR_RETURN(auto&& module, builder.Finish());
  module.producer = Cat("ONNX of ", ProducerOf(model));
  std::string report = Report(model, module, converter);
  return Converted{std::move(module), std::move(report), tensors.mapped()};
}

}  // namespace hr::onnx
