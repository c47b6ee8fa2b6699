/* A plugin that does not find what it drives. */
#include <headrace/plugin.h>

HR_PLUGIN_EXPORT hr_status* hr_plugin_entry(const hr_plugin_host* host, hr_plugin* out) {
  if (!hr_plugin_matches(host, out, "no_driver")) return NULL;
  return host->make_status(HR_UNAVAILABLE, "this machine has no wheel to turn", NULL);
}
