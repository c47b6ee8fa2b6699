#include "headrace/model.h"

#include "capi/src/graph_handle.h"
#include "capi/src/graph_text.h"
#include "runtime/base/json_writer.h"
#include "runtime/format/file_info.h"
#include "runtime/format/reader.h"
#include "runtime/format/version.h"

namespace hr::capi {
namespace {

struct LoadOptions {
  format::ReadOptions read;
  bool inspect_only;
};

Result<LoadOptions> OptionsFrom(const hr_env& env, const hr_load_options* options) {
  HR_ASSIGN_OR_RETURN(hr_load_options copy, CopySized(options, "hr_load_options"));
  return LoadOptions{.read = {.allocator = &env.rep->allocator(),
                              .map = copy.read_whole_file == 0,
                              .verify_checksums = copy.verify_checksums != 0},
                     .inspect_only = copy.inspect_only != 0};
}

// The module that `source` holds, as a model.
template <typename Source>
hr_status* LoadModel(const hr_env& env, const Source& source, const LoadOptions& options,
                     hr_model** out) {
  HR_ASSIGN_OR_WRAP(auto&& module, format::ReadModule(source, options.read));
  return WrapInto(out, session::Model::Create(env.rep, std::move(module), options.inspect_only));
}

// Memory of the host, which is released at the end once the model has taken it over.
struct HostMemory {
  void (*release)(void* context);
  void* context;
  bool taken_over = false;

  static void End(void* self) {
    auto* memory = static_cast<HostMemory*>(self);
    if (memory->taken_over && memory->release != nullptr) memory->release(memory->context);
    delete memory;
  }
};

// The host's read function as the format's reader wants it.
Status CallHostRead(void* context, uint64_t offset, size_t bytes, void* out) {
  const auto* host = static_cast<const hr_reader*>(context);
  hr_status* failure = host->read(host->context, offset, out, bytes);
  if (failure == nullptr) return {};
  return plugin::FromC(failure).WithContext(
      Cat("the host's read function failed for ", bytes, " bytes at ", offset));
}

Result<std::string> TextOf(const session::Model& model, std::string_view format,
                           const hr_graph_view& view) {
  const graph::Signature* signature = nullptr;
  if (view.signature != nullptr) {
    HR_ASSIGN_OR_RETURN(signature, model.FindSignature(view.signature));
  }
  HR_ASSIGN_OR_RETURN(auto&& shown,
                      ViewGraph(model.env().operators(), model.module(), view.graph, signature));
  if (format == "json") return GraphJson(shown);
  if (format == "dot") return GraphDot(shown);
  return InvalidArgument("expected the format 'json' or 'dot', got '", format, "'");
}

std::string TextOf(const format::FileInfo& info) {
  JsonWriter json;
  json.BeginObject()
      .Field("format", Cat(format::kMajorVersion, ".", info.minor))
      .Field("bytes", info.file_bytes)
      .Field("structure_bytes", info.structure_bytes)
      .Field("structure_checksum", info.structure_checksum)
      .Key("segments")
      .BeginArray();
  for (const format::SegmentInfo& segment : info.segments) {
    json.BeginObject()
        .Field("file", segment.file)
        .Field("offset", segment.offset)
        .Field("bytes", segment.bytes)
        .Field("mutable", segment.mutable_data)
        .Field("checksum", segment.checksum)
        .EndObject();
  }
  json.EndArray().EndObject();
  return json.Take();
}

}  // namespace
}  // namespace hr::capi

extern "C" {

hr_status* hr_model_load(hr_env* env, const char* path, const hr_load_options* options,
                         hr_model** out) {
  HR_REQUIRE(env);
  HR_REQUIRE(path);
  HR_REQUIRE(out);
  HR_ASSIGN_OR_WRAP(auto&& inner, hr::capi::OptionsFrom(*env, options));
  return hr::capi::LoadModel(*env, std::string(path), inner, out);
}

hr_status* hr_model_load_memory(hr_env* env, const void* data, size_t bytes,
                                void (*release)(void* context), void* context,
                                const hr_load_options* options, hr_model** out) {
  HR_REQUIRE(env);
  HR_REQUIRE(data);
  HR_REQUIRE(out);
  HR_ASSIGN_OR_WRAP(auto inner, hr::capi::OptionsFrom(*env, options));
  auto* memory = new hr::capi::HostMemory{release, context};
  auto buffer =
      hr::AdoptBuffer(const_cast<void*>(data), bytes, {}, hr::capi::HostMemory::End, memory);
  hr_status* failure = hr::capi::LoadModel(*env, buffer, inner, out);
  if (failure == nullptr) memory->taken_over = true;
  return failure;
}

hr_status* hr_model_load_callback(hr_env* env, const hr_reader* reader,
                                  const hr_load_options* options, hr_model** out) {
  HR_REQUIRE(env);
  HR_REQUIRE(reader);
  HR_REQUIRE(out);
  HR_ASSIGN_OR_WRAP(hr_reader host, hr::capi::CopySized(reader, "hr_reader"));
  if (host.read == nullptr)
    return hr::capi::Wrap(hr::InvalidArgument("hr_reader.read must not be NULL"));
  HR_ASSIGN_OR_WRAP(auto&& inner, hr::capi::OptionsFrom(*env, options));
  const hr::format::HostReader source{
      .context = &host, .bytes = host.total_bytes, .read = hr::capi::CallHostRead};
  hr_status* failure = hr::capi::LoadModel(*env, source, inner, out);
  if (failure == nullptr && host.release != nullptr) host.release(host.context);
  return failure;
}

hr_status* hr_model_from_graph(const hr_graph* graph, hr_model** out) {
  HR_USE_GRAPH(graph);
  HR_REQUIRE(out);
  HR_WRAP_IF_ERROR(hr::graph::Verify(graph->rep.module()));
  return hr::capi::WrapInto(out, hr::session::Model::Create(graph->env, graph->rep.module()));
}

hr_status* hr_graph_from_model(const hr_model* model, hr_graph** out) {
  HR_REQUIRE(model);
  HR_REQUIRE(out);
  const auto& env = model->rep->shared_env();
  HR_WRAP_IF_ERROR(hr::ops::CheckOperators(env->operators(), model->rep->module()));
  HR_WRAP_IF_ERROR(model->rep->fault().Clone());
  *out = new hr_graph{env, {env->allocator(), env->operators(), model->rep->module()}};
  return nullptr;
}

void hr_model_release(hr_model* model) { delete model; }

hr_status* hr_model_describe(const hr_model* model, hr_text** out) {
  HR_REQUIRE(model);
  HR_REQUIRE(out);
  return hr::capi::WrapText(out, model->rep->Describe());
}

hr_status* hr_model_graph_text(const hr_model* model, const char* format, hr_text** out) {
  return hr_model_view(model, format, nullptr, out);
}

hr_status* hr_model_view(const hr_model* model, const char* format, const hr_graph_view* view,
                         hr_text** out) {
  HR_REQUIRE(model);
  HR_REQUIRE(format);
  HR_REQUIRE(out);
  HR_ASSIGN_OR_WRAP(hr_graph_view copy, hr::capi::CopySized(view, "hr_graph_view"));
  HR_ASSIGN_OR_WRAP(auto&& text, hr::capi::TextOf(*model->rep, format, copy));
  return hr::capi::WrapText(out, std::move(text));
}

hr_status* hr_model_file_describe(const char* path, hr_text** out) {
  HR_REQUIRE(path);
  HR_REQUIRE(out);
  HR_ASSIGN_OR_WRAP(auto&& info, hr::format::ReadFileInfo(path));
  return hr::capi::WrapText(out, hr::capi::TextOf(info));
}

}  // extern "C"
