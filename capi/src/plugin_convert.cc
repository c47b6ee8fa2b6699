// Converting models of other formats, which plugins do.
#include "capi/src/handles.h"
#include "capi/src/plugin.h"
#include "headrace/model.h"
#include "headrace/plugin_converter.h"

namespace hr::capi {
namespace {

bool Reads(const plugin::Plugin& plugin, std::string_view path) {
  if (plugin.converter() == nullptr) return false;
  for (const char* const* ending = plugin.converter()->endings; *ending != nullptr; ++ending) {
    if (path.ends_with(*ending)) return true;
  }
  return false;
}

// A plugin of the env, or the one that is called as the file's ending.
Result<std::shared_ptr<plugin::Plugin>> ConverterOf(session::Env& env, std::string_view path) {
  for (const auto& plugin : env.plugins()) {
    if (Reads(*plugin, path)) return plugin;
  }
  const size_t dot = path.rfind('.');
  const std::string_view ending = dot == path.npos ? "" : path.substr(dot + 1);
  if (ending != "onnx") {
    return InvalidArgument("'", path, "' has no ending of a format that can be converted; there ",
                           "is .onnx");
  }
  auto plugin = OpenPlugin(env, ending);
  if (plugin.ok() && !Reads(**plugin, path)) {
    return FailedPrecondition("the plugin '", ending, "' does not read ", path);
  }
  return plugin;
}

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

Result<std::string> Convert(session::Env& env, const char* from, const char* to,
                            const hr_convert_options* given, const HostLimits& limits) {
  HR_ASSIGN_OR_RETURN(const hr_convert_options options, CopySized(given, "hr_convert_options"));
  HR_RETURN_IF_ERROR(limits.Check());
  HR_ASSIGN_OR_RETURN(auto&& plugin, ConverterOf(env, from));
  Conversion conversion = {.limits = &limits, .report = {}};
  const hr_plugin_conversion what = {.struct_size = sizeof what,
                                     .from = from,
                                     .to = to,
                                     .constants = options.constants,
                                     .context = &conversion,
                                     .stopped = Conversion::Stopped,
                                     .report = Conversion::Report};
  Status status = plugin::FromC(plugin->converter()->convert(plugin->self(), &what));
  if (!status.ok()) HR_RETURN_IF_ERROR(limits.Check());
  HR_RETURN_IF_ERROR(std::move(status));
  return std::move(conversion.report);
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

}  // extern "C"
