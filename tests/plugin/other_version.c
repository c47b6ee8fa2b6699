/* A plugin of the next version of the interface. */
#include <headrace/plugin.h>

HR_PLUGIN_EXPORT hr_status* hr_plugin_entry(const hr_plugin_host* host, hr_plugin* out) {
  (void)host;
  out->version = HR_PLUGIN_VERSION + 1;
  out->name = "other";
  return NULL;
}
