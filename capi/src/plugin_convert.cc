// Converting models of other formats, which plugins do.
#include <cstring>

#include "capi/src/handles.h"
#include "capi/src/plugin.h"
#include "capi/src/simplify.h"
#include "headrace/model.h"
#include "headrace/plugin_converter.h"
#include "runtime/base/file.h"

namespace hr::capi {
namespace {

using Table = hr_plugin_converter_table;
// One of the table's lists.
using Endings = const char* const* Table::*;

bool Knows(const plugin::Plugin& plugin, Endings endings, std::string_view path) {
  const Table* table = plugin.converter();
  if (table == nullptr) return false;
  for (const char* const* ending = table->*endings; *ending != nullptr; ++ending) {
    if (path.ends_with(*ending)) return true;
  }
  return false;
}

// A plugin of the env, or the one that is opened for this ending.
Result<std::shared_ptr<plugin::Plugin>> ConverterOf(session::Env& env, Endings endings,
                                                    std::string_view path) {
  for (const auto& plugin : env.plugins()) {
    if (Knows(*plugin, endings, path)) return plugin;
  }
  const std::string_view known = endings == &Table::endings ? ".onnx" : ".pb";
  if (!path.ends_with(known)) {
    return InvalidArgument("'", path, "' has no ending of a format that is known here; there is ",
                           known);
  }
  auto plugin = OpenPlugin(env, "onnx");
  if (plugin.ok() && !Knows(**plugin, endings, path)) {
    return FailedPrecondition("the plugin 'onnx' does not know ", path);
  }
  return plugin;
}

// The call of a plugin, which asks for limits and gives a report.
struct Conversion {
  const HostLimits* limits;
  std::string report;

  static int32_t Stopped(void* self) {
    return static_cast<Conversion*>(self)->limits->Check().ok() ? 0 : 1;
  }
  static void Report(void* self, const char* json) {
    static_cast<Conversion*>(self)->report = json;
  }
};

// The report of `call(plugin, conversion)`; a limit is told rather than what it made of the call.
template <typename Call>
Result<std::string> Reported(const plugin::Plugin& plugin, const HostLimits& limits, Call call) {
  Conversion conversion = {.limits = &limits, .report = {}};
  Status status = plugin::FromC(call(*plugin.converter(), plugin.self(), &conversion));
  if (!status.ok()) HR_RETURN_IF_ERROR(limits.Check());
  HR_RETURN_IF_ERROR(std::move(status));
  return std::move(conversion.report);
}

Result<std::string> ConvertTo(const plugin::Plugin& plugin, const char* from, const char* to,
                              const hr_convert_options& options, const HostLimits& limits) {
  return Reported(plugin, limits, [&](const Table& table, void* self, void* context) {
    const hr_plugin_conversion what = {.struct_size = sizeof what,
                                       .from = from,
                                       .to = to,
                                       .constants = options.constants,
                                       .context = context,
                                       .stopped = Conversion::Stopped,
                                       .report = Conversion::Report};
    return table.convert(self, &what);
  });
}

Result<std::string> Convert(session::Env& env, const char* from, const char* to,
                            const hr_convert_options* given, const HostLimits& limits) {
  HR_ASSIGN_OR_RETURN(const hr_convert_options options, CopySized(given, "hr_convert_options"));
  HR_RETURN_IF_ERROR(limits.Check());
  HR_ASSIGN_OR_RETURN(auto&& plugin, ConverterOf(env, &Table::endings, from));
  if (options.simplify == 0) return ConvertTo(*plugin, from, to, options, limits);
  const std::string part = Cat(to, ".part");
  auto report = ConvertTo(*plugin, from, part.c_str(), options, limits);
  if (!report.ok()) return report;
  auto left = SimplifyFile(env, part, to, limits);
  RemoveFile(part).IgnoreError();
  if (!left.ok()) return std::move(left).status().WithContext(from);
  report->pop_back();  // the brace at the end
  return Cat(*report, ",\"simplified\":", *left, "}");
}

Result<std::string> Export(session::Env& env, const char* from, const char* to,
                           const hr_export_options* given, const HostLimits& limits) {
  HR_ASSIGN_OR_RETURN(const hr_export_options options, CopySized(given, "hr_export_options"));
  HR_RETURN_IF_ERROR(limits.Check());
  HR_ASSIGN_OR_RETURN(auto&& plugin, ConverterOf(env, &Table::endings, to));
  return Reported(*plugin, limits, [&](const Table& table, void* self, void* context) {
    const hr_plugin_writing what = {.struct_size = sizeof what,
                                    .from = from,
                                    .to = to,
                                    .signature = options.signature,
                                    .external_data = options.external_data,
                                    .context = context,
                                    .stopped = Conversion::Stopped,
                                    .report = Conversion::Report};
    return table.write(self, &what);
  });
}

// A tensor that a plugin reads.
struct Loading {
  session::Env* env;
  Tensor tensor;
  std::string name;

  Status Take(const hr_plugin_read_tensor& read) {
    const auto dtype = static_cast<DType>(read.dtype);
    const Dims dims(read.dims, read.dims + read.rank);
    HR_ASSIGN_OR_RETURN(tensor, Tensor::Create(env->allocator(), dtype, dims));
    if (tensor.bytes() != read.bytes) return Internal("the plugin gives ", read.bytes, " bytes");
    if (read.bytes != 0) std::memcpy(tensor.data(), read.data, read.bytes);
    name = read.name;
    return {};
  }
};

Status Load(session::Env& env, const char* path, Loading* loading) {
  HR_ASSIGN_OR_RETURN(auto&& plugin, ConverterOf(env, &Table::tensor_endings, path));
  return plugin::FromC(plugin->converter()->read_tensor(
      plugin->self(), path, loading, [](void* context, const hr_plugin_read_tensor* read) {
        return Wrap(static_cast<Loading*>(context)->Take(*read));
      }));
}

}  // namespace
}  // namespace hr::capi

extern "C" {

hr_status* hr_model_convert(hr_env* env, const char* from, const char* to,
                            const hr_convert_options* options, const hr_limits* limits,
                            hr_text** out_report) {
  HR_REQUIRE(env);
  HR_REQUIRE(from);
  HR_REQUIRE(to);
  HR_ASSIGN_OR_WRAP(auto checked, hr::capi::LimitsFrom(limits, env->rep->clock()));
  HR_ASSIGN_OR_WRAP(auto&& report, hr::capi::Convert(*env->rep, from, to, options, checked));
  if (out_report != nullptr) *out_report = new hr_text{std::move(report)};
  return nullptr;
}

hr_status* hr_model_export(hr_env* env, const char* from, const char* to,
                           const hr_export_options* options, const hr_limits* limits,
                           hr_text** out_report) {
  HR_REQUIRE(env);
  HR_REQUIRE(from);
  HR_REQUIRE(to);
  HR_ASSIGN_OR_WRAP(auto checked, hr::capi::LimitsFrom(limits, env->rep->clock()));
  HR_ASSIGN_OR_WRAP(auto&& report, hr::capi::Export(*env->rep, from, to, options, checked));
  if (out_report != nullptr) *out_report = new hr_text{std::move(report)};
  return nullptr;
}

hr_status* hr_tensor_load(hr_env* env, const char* path, hr_tensor** out, hr_text** out_name) {
  HR_REQUIRE(env);
  HR_REQUIRE(path);
  HR_REQUIRE(out);
  hr::capi::Loading loading = {.env = env->rep.get(), .tensor = {}, .name = {}};
  HR_WRAP_IF_ERROR(hr::capi::Load(*env->rep, path, &loading));
  *out = new hr_tensor{std::move(loading.tensor)};
  if (out_name != nullptr) *out_name = new hr_text{std::move(loading.name)};
  return nullptr;
}

}  // extern "C"
