// What libheadrace_ucx.so exports.
#include "transport/ucx/ucx.h"

HR_PLUGIN_EXPORT hr_status* hr_plugin_entry(const hr_plugin_host* host, hr_plugin* out) {
  return hr::ucx::UcxPluginEntry(host, out);
}
