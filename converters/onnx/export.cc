#include "converters/onnx/export.h"

#include "converters/onnx/fields.h"
#include "converters/onnx/graph_writer.h"
#include "converters/onnx/opsets.h"
#include "runtime/base/errors.h"
#include "runtime/base/json_writer.h"
#include "runtime/format/pages.h"
#include "runtime/format/reader.h"
#include "runtime/transform/keep_signatures.h"

namespace hr::onnx {
namespace {

// Messages of protocol buffers are smaller than 2 GiB.
constexpr uint64_t kMostBytes = INT32_MAX;
// Where tensors of the data file begin, so that they can be mapped; smaller ones stay in the model.
constexpr uint64_t kPage = 4096;

// The file of the tensors beside the model, and what goes there.
struct DataFile {
  std::string name;
  std::vector<std::pair<uint64_t, Bytes>> tensors;  // with their offsets
  uint64_t bytes = 0;

  void Add(const Tensor& tensor, Rope& message);
  Status Send(FileWriter& writer, FunctionRef<Status(Bytes)> sink) const;
};

Bytes BytesOf(const Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.data()), tensor.bytes()};
}

void AddEntry(Rope& message, std::string_view key, std::string_view value) {
  Rope entry;
  entry.Text(StringStringEntryProto_key, key);
  entry.Text(StringStringEntryProto_value, value);
  message.Message(TensorProto_external_data, std::move(entry));
}

void DataFile::Add(const Tensor& tensor, Rope& message) {
  if (tensor.bytes() < kPage) return message.Outside(TensorProto_raw_data, BytesOf(tensor));
  constexpr int64_t kExternal = 1;
  const uint64_t offset = (bytes + kPage - 1) / kPage * kPage;
  message.Int(TensorProto_data_location, kExternal);
  AddEntry(message, "location", name);
  AddEntry(message, "offset", Cat(offset));
  AddEntry(message, "length", Cat(tensor.bytes()));
  tensors.emplace_back(offset, BytesOf(tensor));
  bytes = offset + tensor.bytes();
}

Status DataFile::Send(FileWriter& writer, FunctionRef<Status(Bytes)> sink) const {
  constexpr std::byte kZeros[kPage] = {};
  for (const auto& [offset, tensor] : tensors) {
    const auto gap = offset - static_cast<uint64_t>(writer.offset());
    HR_RETURN_IF_ERROR(sink({kZeros, gap}));
    HR_RETURN_IF_ERROR(sink(tensor));
  }
  return {};
}

Result<std::string> SignatureOf(const graph::Module& module, const std::string& wanted) {
  if (!wanted.empty()) return wanted;
  if (module.FindSignature("infer") != nullptr) return std::string("infer");
  if (module.signatures.size() == 1) return module.signatures[0].name;
  std::vector<std::string> names;
  for (const graph::Signature& signature : module.signatures) names.push_back(signature.name);
  return InvalidArgument("an ONNX model has one signature; say which, there are", ListText(names));
}

Status CheckSignature(const graph::Signature& signature, Problems& problems) {
  if (signature.outputs.empty()) {
    return InvalidArgument("the signature '", signature.name,
                           "' has no outputs, which an ONNX model must have");
  }
  if (!signature.targets.empty()) {
    problems.Add(Cat("the signature '", signature.name, "' has ", signature.targets.size(),
                     " nodes that run for what they change, and an ONNX model changes nothing; "
                     "write a signature that only infers"));
  }
  return {};
}

// What stands before and after the graph.
Rope Whole(const graph::Module& module, const std::map<std::string, int64_t>& opsets, Rope graph) {
  Rope model;
  model.Int(ModelProto_ir_version, IrVersionOf(opsets.at("")));
  model.Text(ModelProto_producer_name, "headrace");
  for (const auto& [domain, version] : opsets) {
    Rope opset;
    opset.Text(OperatorSetIdProto_domain, domain);
    opset.Int(OperatorSetIdProto_version, version);
    model.Message(ModelProto_opset_import, std::move(opset));
  }
  for (const auto& [key, value] : module.metadata) {
    Rope entry;
    entry.Text(StringStringEntryProto_key, key);
    entry.Text(StringStringEntryProto_value, value);
    model.Message(ModelProto_metadata_props, std::move(entry));
  }
  model.Message(ModelProto_graph, std::move(graph));
  return model;
}

// A module's only signature as a model.
class Exporter {
 public:
  Exporter(const graph::Module& module, const ops::OpRegistry& registry,
           const ExportOptions& options)
      : module_(module), registry_(registry), options_(options) {}

  Result<Rope> Model(DataFile* data) {
    Problems problems("the model cannot be written as ONNX");
    const graph::Signature& signature = module_.signatures[0];
    HR_RETURN_IF_ERROR(CheckSignature(signature, problems));
    const auto add = [&](const Tensor& tensor, Rope& message) {
      if (data != nullptr) return data->Add(tensor, message);
      message.Outside(TensorProto_raw_data, BytesOf(tensor));
    };
    GraphWriter writer(module_, signature, add, options_.limits, problems);
    Rope graph = writer.Write();
    opsets_ = ChooseOpsets(module_, writer.used(), registry_, problems);
    if (options_.limits != nullptr) HR_RETURN_IF_ERROR(options_.limits->Check());
    HR_RETURN_IF_ERROR(problems.ToStatus());
    operators_ = writer.operators();
    return Whole(module_, opsets_, std::move(graph));
  }

  std::string Report(const Rope& model, const DataFile& data) const {
    JsonWriter json;
    json.BeginObject();
    json.Field("signature", module_.signatures[0].name);
    json.Key("opsets").BeginObject();
    for (const auto& [domain, version] : opsets_) {
      json.Key(domain.empty() ? std::string_view("ai.onnx") : domain).Value(version);
    }
    json.EndObject();
    json.Key("operators").BeginObject();
    for (const auto& [name, count] : operators_) json.Key(name).Value(count);
    json.EndObject();
    json.Field("bytes", model.bytes());
    json.Field("data_file", data.name);
    json.Field("data_bytes", data.bytes);
    json.EndObject();
    return json.Take();
  }

 private:
  const graph::Module& module_;
  const ops::OpRegistry& registry_;
  const ExportOptions& options_;
  std::map<std::string, int64_t> opsets_;
  std::map<std::string, size_t> operators_;
};

}  // namespace

Result<std::string> Export(const std::string& from, const std::string& to,
                           const ops::OpRegistry& registry, const ExportOptions& options) {
  HR_ASSIGN_OR_RETURN(auto&& file, format::MapFile(from, *options.allocator));
  const std::string folder(DirectoryOf(from));
  auto whole = format::ReadModule(
      file.buffer, {.allocator = options.allocator, .side_file_folder = folder.c_str()});
  if (!whole.ok()) return std::move(whole).status().WithContext(from);
  HR_ASSIGN_OR_RETURN(const std::string signature, SignatureOf(*whole, options.signature));
  HR_ASSIGN_OR_RETURN(auto&& module,
                      transform::KeepSignatures(registry, *whole, std::span(&signature, 1)));
  HR_ASSIGN_OR_RETURN(module, Upgraded(*options.allocator, registry, std::move(module)));
  Exporter exporter(module, registry, options);
  DataFile data;
  HR_ASSIGN_OR_RETURN(auto&& model, exporter.Model(nullptr));
  if (options.external_data || model.bytes() > kMostBytes) {
    data.name = Cat(BaseName(to), ".data");
    HR_ASSIGN_OR_RETURN(model, exporter.Model(&data));
  }
  if (model.bytes() > kMostBytes) {
    return InvalidArgument("the structure of the model would have ", model.bytes(),
                           " bytes; an ONNX model has less than 2 GiB");
  }
  const std::vector<Bytes> mapped = {AsBytes(file.view())};
  const auto send = [&](const std::string& path, const auto& what) {
    return WriteFileAtomically(path, [&](FileWriter& writer) {
      const auto sink = [&](Bytes bytes) -> Status {
        if (options.limits != nullptr) HR_RETURN_IF_ERROR(options.limits->Check());
        HR_RETURN_IF_ERROR(writer.Write(bytes));
        format::ForgetPages(mapped, bytes);
        return {};
      };
      return what(writer, sink);
    });
  };
  if (!data.name.empty()) {
    HR_RETURN_IF_ERROR(send(JoinPath(DirectoryOf(to), data.name),
                            [&](auto& writer, auto sink) { return data.Send(writer, sink); }));
  }
  HR_RETURN_IF_ERROR(send(to, [&](FileWriter&, auto sink) { return model.Send(sink); }));
  return exporter.Report(model, data);
}

}  // namespace hr::onnx
