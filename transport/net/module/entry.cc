// What libheadrace_net.so exports.
#include "transport/net/net.h"

HR_PLUGIN_EXPORT hr_status* hr_plugin_entry(const hr_plugin_host* host, hr_plugin* out) {
  return hr::net::NetPluginEntry(host, out);
}
