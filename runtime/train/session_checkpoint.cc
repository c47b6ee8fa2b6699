#include "runtime/train/session_checkpoint.h"

#include <charconv>
#include <cstring>

#include "runtime/base/errors.h"
#include "runtime/train/checkpoint_directory.h"
#include "runtime/train/session_shards.h"

namespace hr::train {
namespace {

constexpr char kStepKey[] = "headrace.step";
constexpr char kSeedKey[] = "headrace.seed";
constexpr char kDataKey[] = "headrace.data";

struct Snapshot {
  std::vector<Tensor> variables;  // whole
  int64_t step = 0;
};

// Whether the host's memory of the variable is that of the model, which nobody writes.
bool HasModelsMemory(const graph::Module& module, const session::VariableStore& store, uint32_t i) {
  const uint32_t constant = module.variables[i].initial_constant;
  return constant != graph::kNone && store.Get(i).data() == module.constants[constant].data();
}

bool HasBytes(const Tensor& tensor, const Tensor& other) {
  return tensor.bytes() == 0 || std::memcmp(tensor.data(), other.data(), tensor.bytes()) == 0;
}

Result<Snapshot> TakeSnapshot(session::Session& session, const SessionShards& shards,
                              const CallLimits& limits) {
  Snapshot snapshot;
  size_t count = session.model().module().variables.size();
  HR_RETURN_IF_ERROR(session.ReadVariables(
      limits, [&](const session::VariableStore& store, int64_t step) -> Status {
        snapshot.step = step;
        for (uint32_t i = 0; i < count; ++i) {
          // What nobody has written stays where it is, in the model's file perhaps.
          Tensor value = store.Get(i);
          if (!HasModelsMemory(session.model().module(), store, i)) {
            HR_ASSIGN_OR_RETURN(value, value.Clone(session.env().allocator()));
          }
          HR_ASSIGN_OR_RETURN(
              value, shards.Gather(i, std::move(value), session.env().allocator(), limits));
          snapshot.variables.push_back(std::move(value));
        }
        return {};
      }));
  return snapshot;
}

template <typename T>
Result<T> NumberFrom(const CheckpointMetadata& metadata, const std::string& key) {
  auto found = metadata.find(key);
  if (found == metadata.end()) {
    return DataLoss("the checkpoint has no '", key, "'; it was not written by a session");
  }
  T value{};
  const std::string& text = found->second;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return DataLoss("the checkpoint's '", key, "' is not a number: '", text, "'");
  }
  return value;
}

Status CheckVariables(const session::Session& session, const SessionShards& shards,
                      const CheckpointReader& reader) {
  const auto& variables = session.model().module().variables;
  for (uint32_t i = 0; i < variables.size(); ++i) {
    const graph::Variable& variable = variables[i];
    const Dims* dims = shards.DimsOf(i, variable.dims);
    if (dims == nullptr) continue;
    auto tensor = reader.Get(variable.name);
    if (!tensor.ok()) {
      return std::move(tensor).status().WithContext(
          Cat("the checkpoint '", reader.path(), "' does not fit the model"));
    }
    if (tensor->dtype() != variable.dtype || tensor->dims() != *dims) {
      return InvalidArgument("the checkpoint '", reader.path(),
                             "' does not fit the model: variable '", variable.name, "' is ",
                             DTypeName(variable.dtype), ShapeText(*dims), ", the checkpoint has ",
                             tensor->TypeText());
    }
  }
  return {};
}

// Whatever can fail comes before the first variable is set.
Status SetVariables(session::Session& session, const SessionShards& shards,
                    const CheckpointReader& reader, int64_t step, uint64_t seed,
                    const CallLimits& limits) {
  Allocator& allocator = session.env().allocator();
  const auto& variables = session.model().module().variables;
  return session.RestoreVariables(
      limits, [&](session::VariableStore& store, int64_t* to_step, uint64_t* to_seed) -> Status {
        // A frozen weight that has its value already needs no memory of the session's own.
        std::vector<std::pair<uint32_t, Tensor>> changed;
        for (uint32_t i = 0; i < variables.size(); ++i) {
          if (shards.DimsOf(i, variables[i].dims) == nullptr) continue;
          HR_ASSIGN_OR_RETURN(Tensor value, reader.Get(variables[i].name));
          HR_ASSIGN_OR_RETURN(value,
                              shards.PartOf(i, std::move(value), variables[i].dims, allocator));
          const bool same = store.DeviceOf(i) == nullptr &&
                            HasModelsMemory(session.model().module(), store, i) &&
                            HasBytes(store.Get(i), value);
          if (!same) changed.emplace_back(i, std::move(value));
        }
        for (const auto& [i, value] : changed) HR_RETURN_IF_ERROR(store.MakeWritable(allocator, i));
        for (const auto& [i, value] : changed) HR_RETURN_IF_ERROR(store.Set(allocator, i, value));
        *to_step = step;
        *to_seed = seed;
        return {};
      });
}

Status SeekSaved(data::Dataset& dataset, const CheckpointReader& reader, const CallLimits& limits) {
  auto position = reader.metadata().find(kDataKey);
  if (position != reader.metadata().end()) return dataset.Restore(position->second, limits);
  return FailedPrecondition("the checkpoint '", reader.path(), "' was saved without a data set, ",
                            "so it has no position to restore; restore without a data set");
}

}  // namespace

Result<std::string> SaveSession(session::Session& session, const std::string& directory,
                                const SaveOptions& options, const CallLimits& limits) {
  if (session.tainted()) {
    return Tainted("the session's variables may be half updated; they are not worth saving");
  }
  HR_ASSIGN_OR_RETURN(const SessionShards shards, SessionShards::Of(session));
  HR_ASSIGN_OR_RETURN(Snapshot snapshot, TakeSnapshot(session, shards, limits));
  if (!shards.writes()) return std::string();
  CheckpointMetadata metadata = options.metadata;
  metadata[kStepKey] = Cat(snapshot.step);
  metadata[kSeedKey] = Cat(session.seed());
  if (options.dataset != nullptr) {
    HR_ASSIGN_OR_RETURN(metadata[kDataKey], options.dataset->Save());
  }
  const auto& variables = session.model().module().variables;
  std::vector<TensorSpec> specs;
  std::map<std::string_view, const Tensor*> by_name;
  for (size_t i = 0; i < variables.size(); ++i) {
    const Dims* dims = shards.DimsOf(static_cast<uint32_t>(i), variables[i].dims);
    if (dims == nullptr) continue;
    specs.push_back({variables[i].name, variables[i].dtype, *dims});
    by_name[variables[i].name] = &snapshot.variables[i];
  }
  HR_ASSIGN_OR_RETURN(auto writer,
                      CheckpointWriter::Create(directory, snapshot.step, std::move(specs),
                                               std::move(metadata), options.files));
  for (const TensorSpec& spec : writer->order()) {
    HR_RETURN_IF_ERROR(limits.Check());
    HR_RETURN_IF_ERROR(writer->Write(*by_name[spec.name]));
  }
  HR_RETURN_IF_ERROR(writer->Commit());
  return writer->path();
}

Result<RestoreReport> RestoreSession(session::Session& session, const std::string& path,
                                     const RestoreOptions& options, const CallLimits& limits) {
  if (options.owner.has_value() && FileExists(path) && !FileExists(JoinPath(path, kManifestName))) {
    HR_RETURN_IF_ERROR(TakeTerm(path, options.owner).status().Clone());
  }
  data::Dataset* dataset = options.dataset;
  HR_ASSIGN_OR_RETURN(OpenedCheckpoint opened,
                      OpenCheckpoint(path, {.allocator = &session.env().allocator()}));
  const CheckpointReader& reader = opened.reader;
  HR_ASSIGN_OR_RETURN(const SessionShards shards, SessionShards::Of(session));
  HR_RETURN_IF_ERROR(CheckVariables(session, shards, reader));
  HR_ASSIGN_OR_RETURN(int64_t step, NumberFrom<int64_t>(reader.metadata(), kStepKey));
  HR_ASSIGN_OR_RETURN(uint64_t seed, NumberFrom<uint64_t>(reader.metadata(), kSeedKey));
  data::DataPosition before;
  if (dataset != nullptr) {
    HR_ASSIGN_OR_RETURN(before, dataset->position());
    HR_RETURN_IF_ERROR(SeekSaved(*dataset, reader, limits));
  }
  if (Status status = SetVariables(session, shards, reader, step, seed, limits); !status.ok()) {
    if (dataset != nullptr) dataset->Seek(before, {}).IgnoreError();
    return status;
  }
  return RestoreReport{.path = reader.path(),
                       .step = step,
                       .metadata = reader.metadata(),
                       .warnings = std::move(opened.warnings)};
}

}  // namespace hr::train
