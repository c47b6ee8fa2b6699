// What libheadrace_images.so exports.
#include "decoders/images/images.h"

HR_PLUGIN_EXPORT hr_status* hr_plugin_entry(const hr_plugin_host* host, hr_plugin* out) {
  return hr::images::ImagesPluginEntry(host, out);
}
