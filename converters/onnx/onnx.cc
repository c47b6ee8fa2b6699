#include "converters/onnx/onnx.h"

#include "converters/onnx/convert.h"
#include "headrace/plugin_converter.h"
#include "runtime/format/writer.h"
#include "runtime/plugin/guest.h"

namespace hr::onnx {
namespace {

constexpr const char* kEndings[] = {".onnx", nullptr};

// What the plugin's instance is.
struct Instance {
  explicit Instance(const hr_plugin_host& host) : guest(host) {}
  plugin::Guest guest;
  ops::OpRegistry registry;
  hr_plugin_converter_table table{};
};

Status ConvertFile(Instance& instance, const hr_plugin_conversion& what) {
  CallLimits limits;
  limits.context = what.context;
  limits.interrupted = what.stopped;
  HR_ASSIGN_OR_RETURN(auto&& converted,
                      Convert(what.from, instance.registry,
                              {.constants = what.constants != 0,
                               .limits = what.stopped == nullptr ? nullptr : &limits,
                               .allocator = &instance.guest}));
  HR_RETURN_IF_ERROR(
      format::WriteModule(converted.module, what.to,
                          {.after_read = [&](Bytes b) { ForgetPages(converted.mapped, b); },
                           .allocator = &instance.guest}));
  if (what.report != nullptr) what.report(what.context, converted.report.c_str());
  return {};
}

hr_status* ConvertForHost(void* self, const hr_plugin_conversion* what) {
  auto& instance = *static_cast<Instance*>(self);
  return instance.guest.Pass(ConvertFile(instance, *what));
}

}  // namespace

hr_status* OnnxPluginEntry(const hr_plugin_host* host, hr_plugin* out) {
  if (!hr_plugin_matches(host, out, "onnx")) return nullptr;
  auto* instance = new Instance(*host);
  instance->table = {sizeof(hr_plugin_converter_table), kEndings, ConvertForHost};
  out->self = instance;
  out->release = [](void* self) { delete static_cast<Instance*>(self); };
  out->converter = &instance->table;
  return nullptr;
}

}  // namespace hr::onnx
