#include "converters/onnx/onnx.h"

#include "converters/onnx/convert.h"
#include "converters/onnx/export.h"
#include "converters/onnx/tensors.h"
#include "headrace/plugin_converter.h"
#include "runtime/format/pages.h"
#include "runtime/format/writer.h"
#include "runtime/plugin/guest.h"

namespace hr::onnx {
namespace {

constexpr const char* kEndings[] = {".onnx", nullptr};
constexpr const char* kTensorEndings[] = {".pb", nullptr};

// What the plugin's instance is.
struct Instance {
  explicit Instance(const hr_plugin_host& host) : guest(host) {}
  plugin::Guest guest;
  ops::OpRegistry registry;
  hr_plugin_converter_table table{};
};

CallLimits LimitsOf(const auto& what) {
  CallLimits limits;
  limits.context = what.context;
  limits.interrupted = what.stopped;
  return limits;
}

Status ConvertFile(Instance& instance, const hr_plugin_conversion& what) {
  const CallLimits limits = LimitsOf(what);
  HR_ASSIGN_OR_RETURN(
      auto&& converted,
      Convert(what.from, instance.registry,
              {.constants = what.constants != 0, .limits = &limits, .allocator = &instance.guest}));
  HR_RETURN_IF_ERROR(
      format::WriteModule(converted.module, what.to,
                          {.after_read = [&](Bytes b) { format::ForgetPages(converted.mapped, b); },
                           .allocator = &instance.guest}));
  if (what.report != nullptr) what.report(what.context, converted.report.c_str());
  return {};
}

Status WriteFile(Instance& instance, const hr_plugin_writing& what) {
  const CallLimits limits = LimitsOf(what);
  HR_ASSIGN_OR_RETURN(auto&& report,
                      Export(what.from, what.to, instance.registry,
                             {.signature = what.signature == nullptr ? "" : what.signature,
                              .external_data = what.external_data != 0,
                              .limits = &limits,
                              .allocator = &instance.guest}));
  if (what.report != nullptr) what.report(what.context, report.c_str());
  return {};
}

hr_status* ConvertForHost(void* self, const hr_plugin_conversion* what) {
  auto& instance = *static_cast<Instance*>(self);
  return instance.guest.Pass(ConvertFile(instance, *what));
}

hr_status* WriteForHost(void* self, const hr_plugin_writing* what) {
  auto& instance = *static_cast<Instance*>(self);
  return instance.guest.Pass(WriteFile(instance, *what));
}

hr_status* ReadTensorForHost(void* self, const char* path, void* context,
                             hr_status* (*take)(void* context, const hr_plugin_read_tensor*)) {
  plugin::Guest& guest = static_cast<Instance*>(self)->guest;
  auto read = ReadTensorFile(path, guest);
  if (!read.ok()) return guest.Pass(std::move(read).status());
  const Tensor& tensor = read->tensor;
  const hr_plugin_read_tensor out = {.struct_size = sizeof out,
                                     .name = read->name.c_str(),
                                     .dtype = static_cast<int32_t>(tensor.dtype()),
                                     .rank = tensor.dims().size(),
                                     .dims = tensor.dims().data(),
                                     .data = tensor.data(),
                                     .bytes = tensor.bytes()};
  return take(context, &out);
}

}  // namespace

hr_status* OnnxPluginEntry(const hr_plugin_host* host, hr_plugin* out) {
  if (!hr_plugin_matches(host, out, "onnx")) return nullptr;
  auto* instance = new Instance(*host);
  instance->table = {sizeof(hr_plugin_converter_table),
                     kEndings,
                     kTensorEndings,
                     ConvertForHost,
                     WriteForHost,
                     ReadTensorForHost};
  out->self = instance;
  out->release = [](void* self) { delete static_cast<Instance*>(self); };
  out->converter = &instance->table;
  return nullptr;
}

}  // namespace hr::onnx
