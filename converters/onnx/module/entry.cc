// What libheadrace_onnx.so exports.
#include "converters/onnx/onnx.h"

HR_PLUGIN_EXPORT hr_status* hr_plugin_entry(const hr_plugin_host* host, hr_plugin* out) {
  return hr::onnx::OnnxPluginEntry(host, out);
}
