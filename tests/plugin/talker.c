/* A plugin that does nothing but tell the host's log that it comes and goes. */
#include <headrace/plugin.h>
#include <stdio.h>

static void leave(void* self) {
  const hr_plugin_host* host = self;
  host->log(host->context, HR_LOG_ERROR, "the talker goes");
}

HR_PLUGIN_EXPORT hr_status* hr_plugin_entry(const hr_plugin_host* host, hr_plugin* out) {
  char message[] = "the talker comes"; /* the host's only during the call */
  if (!hr_plugin_matches(host, out, "talker")) return NULL;
  host->log(host->context, HR_LOG_DEBUG, message);
  snprintf(message, sizeof message, "it stays");
  host->log(host->context, HR_LOG_INFO, message);
  out->self = (void*)host;
  out->release = leave;
  return NULL;
}
