#include "runtime/train/adapter_file.h"

#include <algorithm>
#include <map>

#include "runtime/base/errors.h"
#include "runtime/train/safetensors.h"

namespace hr::train {
namespace {

using Tensors = std::map<std::string, Tensor>;

Result<Tensors> ReadTensors(const std::string& path, Allocator& allocator) {
  HR_ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path));
  HR_ASSIGN_OR_RETURN(const auto entries, ParseSafetensors(file.bytes(), path));
  const BufferRef buffer = BufferOf(std::move(file));
  Tensors out;
  for (const TensorEntry& entry : entries) {
    HR_ASSIGN_OR_RETURN(out[entry.name], TensorAt(buffer, entry, allocator));
  }
  return out;
}

std::vector<uint32_t> PartsOf(const graph::Module& module) {
  std::vector<uint32_t> out;
  for (uint32_t i = 0; i < module.variables.size(); ++i) {
    if (transform::IsAdapterPart(module.variables[i].name)) out.push_back(i);
  }
  return out;
}

Result<std::vector<uint32_t>> SomeParts(const session::Session& session) {
  auto parts = PartsOf(session.model().module());
  if (!parts.empty()) return parts;
  return FailedPrecondition("the session's model has no adapters; add some with hr_graph_add_lora");
}

Status CheckPart(const graph::Variable& variable, const Tensors& tensors, const std::string& path) {
  const auto found = tensors.find(variable.name);
  if (found == tensors.end())
    return NotFound("'", path, "' has no tensor '", variable.name, "' for the model's adapter");
  if (found->second.dtype() == variable.dtype && found->second.dims() == variable.dims) return {};
  return InvalidArgument("'", path, "' does not fit the model: '", variable.name, "' is ",
                         DTypeName(variable.dtype), ShapeText(variable.dims), ", the file has ",
                         found->second.TypeText());
}

}  // namespace

Status SaveAdapters(session::Session& session, const std::string& path, const CallLimits& limits) {
  HR_ASSIGN_OR_RETURN(const auto parts, SomeParts(session));
  const auto& variables = session.model().module().variables;
  std::vector<TensorEntry> entries;
  std::vector<Tensor> values;
  HR_RETURN_IF_ERROR(
      session.ReadVariables(limits, [&](const session::VariableStore& store, int64_t) -> Status {
        for (uint32_t i : parts) {
          HR_ASSIGN_OR_RETURN(Tensor copy, store.Get(i).Clone(session.env().allocator()));
          entries.push_back({variables[i].name, variables[i].dtype, variables[i].dims, 0,
                             static_cast<int64_t>(copy.bytes())});
          values.push_back(std::move(copy));
        }
        return {};
      }));
  HR_ASSIGN_OR_RETURN(std::string file, EncodeSafetensorsHeader(entries));
  for (const Tensor& value : values) file += AsText({value.data(), value.bytes()});
  return WriteFileAtomically(path, AsBytes(file));
}

Status LoadAdapters(session::Session& session, const std::string& path, const CallLimits& limits) {
  HR_ASSIGN_OR_RETURN(const auto parts, SomeParts(session));
  if (session.tainted()) {
    return Tainted("the session's variables may be half updated; restore a checkpoint first");
  }
  Allocator& allocator = session.env().allocator();
  HR_ASSIGN_OR_RETURN(const Tensors tensors, ReadTensors(path, allocator));
  const auto& variables = session.model().module().variables;
  for (uint32_t i : parts) HR_RETURN_IF_ERROR(CheckPart(variables[i], tensors, path));
  if (tensors.size() != parts.size()) {
    return InvalidArgument("'", path, "' has ", tensors.size(), " tensors, the model's adapters ",
                           parts.size(),
                           "; load it onto a graph with the same adapters, or with "
                           "hr_graph_load_adapters");
  }
  return session.RestoreVariables(
      limits, [&](session::VariableStore& store, int64_t*, uint64_t*) -> Status {
        for (uint32_t i : parts) HR_RETURN_IF_ERROR(store.MakeWritable(allocator, i));
        for (uint32_t i : parts)
          HR_RETURN_IF_ERROR(store.Set(allocator, i, tensors.at(variables[i].name)));
        return {};
      });
}

Result<std::vector<transform::TrainedAdapter>> ReadAdapters(const std::string& path,
                                                            Allocator& allocator) {
  HR_ASSIGN_OR_RETURN(const Tensors tensors, ReadTensors(path, allocator));
  std::map<std::string, transform::TrainedAdapter> adapters;
  for (const auto& [name, tensor] : tensors) {
    if (!transform::IsAdapterPart(name)) {
      return DataLoss("'", path, "' is no file of adapters: it has a tensor '", name, "'");
    }
    const size_t slash = name.rfind('/');
    transform::TrainedAdapter& adapter = adapters[name.substr(0, slash)];
    adapter.weight = name.substr(0, slash);
    const std::string_view part = std::string_view(name).substr(slash);
    (part == transform::kLoraA   ? adapter.a
     : part == transform::kLoraB ? adapter.b
                                 : adapter.scale) = tensor;
  }
  std::vector<transform::TrainedAdapter> out;
  for (auto& [weight, adapter] : adapters) {
    if (!adapter.a.defined() || !adapter.b.defined() || !adapter.scale.defined()) {
      return DataLoss("'", path, "' lacks a part of the adapter of '", weight,
                      "', which are lora_A, lora_B and lora_scale");
    }
    out.push_back(std::move(adapter));
  }
  if (out.empty()) return DataLoss("'", path, "' has no adapters");
  return out;
}

}  // namespace hr::train
