#include "capi/src/train/handles.h"
#ifdef HEADRACE_COMM
#include "capi/src/comm/handles.h"
#endif
#include "runtime/base/json_writer.h"
#include "runtime/train/adapter_file.h"
#include "runtime/train/checkpoint_directory.h"
#include "runtime/train/session_checkpoint.h"
#include "runtime/transform/keep_signatures.h"

namespace hr::capi {
namespace {

std::string ReportText(const train::RestoreReport& report) {
  JsonWriter json;
  json.BeginObject().Field("path", report.path).Field("step", report.step);
  json.Key("warnings").BeginArray();
  for (const std::string& warning : report.warnings) json.Value(std::string_view(warning));
  json.EndArray().Key("metadata").BeginObject();
  for (const auto& [key, value] : report.metadata) json.Key(key).Value(value);
  json.EndObject().EndObject();
  return json.Take();
}

void DescribeOne(JsonWriter& json, const std::string& path) {
  json.BeginObject().Field("path", path);
  auto reader = train::CheckpointReader::Open(path, {});
  if (!reader.ok()) {
    json.Field("whole", false).Field("error", reader.status().message()).EndObject();
    return;
  }
  json.Field("whole", true).Field("step", reader->step()).Key("tensors").BeginArray();
  for (const auto& [name, tensor] : reader->tensors()) {
    json.BeginObject().Field("name", name).Field("type", tensor.TypeText()).EndObject();
  }
  json.EndArray().Key("metadata").BeginObject();
  for (const auto& [key, value] : reader->metadata()) json.Key(key).Value(value);
  json.EndObject().EndObject();
}

Result<std::string> Describe(const std::string& path) {
  HR_ASSIGN_OR_RETURN(auto folders, train::ListCheckpoints(path));
  if (folders.empty() && !FileExists(JoinPath(path, train::kManifestName))) {
    return NotFound("'", path, "' is not a checkpoint (it has no ", train::kManifestName,
                    ") and contains none (step-N)");
  }
  JsonWriter json;
  json.BeginArray();
  if (folders.empty()) DescribeOne(json, path);  // one checkpoint's own folder
  for (const train::CheckpointFolder& folder : folders) DescribeOne(json, folder.path);
  json.EndArray();
  return json.Take();
}

// The module as a server wants it: today's values as initial ones.
Result<graph::Module> Trained(session::Session& session, std::span<const std::string> signatures,
                              const CallLimits& limits) {
  graph::Module module = session.model().module();
  HR_RETURN_IF_ERROR(
      session.ReadVariables(limits, [&](const session::VariableStore& store, int64_t) -> Status {
        for (uint32_t i = 0; i < module.variables.size(); ++i) {
          const uint32_t constant = module.variables[i].initial_constant;
          if (constant != graph::kNone && store.Get(i).data() == module.constants[constant].data())
            continue;  // nobody has written it
          HR_ASSIGN_OR_RETURN(Tensor value, store.Get(i).Clone(session.env().allocator()));
          module.variables[i].initial_constant = static_cast<uint32_t>(module.constants.size());
          module.variables[i].initial_graph = graph::kNone;
          module.constants.push_back(std::move(value));
        }
        return {};
      }));
  return transform::KeepSignatures(session.env().operators(), module, signatures);
}

}  // namespace
}  // namespace hr::capi

std::optional<hr::train::CheckpointOwner> hr::capi::OwnerFrom(const hr_group* group) {
#ifdef HEADRACE_COMM
  if (group != nullptr) {
    const comm::MeshOptions& mesh = group->rep->options();
    return train::CheckpointOwner{.job = mesh.job, .epoch = mesh.epoch};
  }
#endif
  (void)group;  // there are none in a build without communication
  return std::nullopt;
}

using hr::capi::Wrap;

extern "C" {

hr_status* hr_session_save(hr_session* session, const char* directory,
                           const hr_checkpoint_options* options, const hr_limits* limits) {
  HR_REQUIRE(session);
  HR_REQUIRE(directory);
  HR_ASSIGN_OR_WRAP(hr_checkpoint_options copy,
                    hr::capi::CopySized(options, "hr_checkpoint_options"));
  hr::train::SaveOptions inner;
  if (copy.keep != 0) inner.files.keep = copy.keep < 0 ? 0 : copy.keep;
  if (copy.dataset != nullptr) inner.dataset = copy.dataset->rep.get();
  inner.files.owner = hr::capi::OwnerFrom(copy.group);
  HR_ASSIGN_OR_WRAP(auto checked, hr::capi::LimitsFrom(limits, session->rep->env().clock()));
  return Wrap(hr::train::SaveSession(*session->rep, directory, inner, checked).status().Clone());
}

hr_status* hr_session_restore(hr_session* session, const char* path,
                              const hr_checkpoint_options* options, const hr_limits* limits,
                              hr_text** report) {
  HR_REQUIRE(session);
  HR_REQUIRE(path);
  HR_ASSIGN_OR_WRAP(hr_checkpoint_options copy,
                    hr::capi::CopySized(options, "hr_checkpoint_options"));
  hr::train::RestoreOptions inner{.owner = hr::capi::OwnerFrom(copy.group)};
  if (copy.dataset != nullptr) inner.dataset = copy.dataset->rep.get();
  HR_ASSIGN_OR_WRAP(auto checked, hr::capi::LimitsFrom(limits, session->rep->env().clock()));
  HR_ASSIGN_OR_WRAP(auto restored, hr::train::RestoreSession(*session->rep, path, inner, checked));
  return report == nullptr ? nullptr : hr::capi::WrapText(report, hr::capi::ReportText(restored));
}

int64_t hr_session_step(const hr_session* session) {
  return session == nullptr ? 0 : session->rep->step();
}

hr_status* hr_checkpoint_describe(const char* path, hr_text** out) {
  HR_REQUIRE(path);
  HR_REQUIRE(out);
  HR_ASSIGN_OR_WRAP(std::string text, hr::capi::Describe(path));
  return hr::capi::WrapText(out, std::move(text));
}

hr_status* hr_session_export(hr_session* session, const char* path, size_t signature_count,
                             const char* const* signatures, const hr_save_options* options,
                             const hr_limits* limits) {
  HR_REQUIRE(session);
  HR_REQUIRE(path);
  HR_ASSIGN_OR_WRAP(auto names, hr::capi::StringsFrom(signature_count, signatures, "signatures"));
  HR_ASSIGN_OR_WRAP(auto checked, hr::capi::LimitsFrom(limits, session->rep->env().clock()));
  HR_ASSIGN_OR_WRAP(auto module, hr::capi::Trained(*session->rep, names, checked));
  return Wrap(hr::capi::SaveModule(session->rep->env(), module, path, options));
}

hr_status* hr_session_save_adapters(hr_session* session, const char* path,
                                    const hr_limits* limits) {
  HR_REQUIRE(session);
  HR_REQUIRE(path);
  HR_ASSIGN_OR_WRAP(auto checked, hr::capi::LimitsFrom(limits, session->rep->env().clock()));
  return Wrap(hr::train::SaveAdapters(*session->rep, path, checked));
}

hr_status* hr_session_load_adapters(hr_session* session, const char* path,
                                    const hr_limits* limits) {
  HR_REQUIRE(session);
  HR_REQUIRE(path);
  HR_ASSIGN_OR_WRAP(auto checked, hr::capi::LimitsFrom(limits, session->rep->env().clock()));
  return Wrap(hr::train::LoadAdapters(*session->rep, path, checked));
}

}  // extern "C"
