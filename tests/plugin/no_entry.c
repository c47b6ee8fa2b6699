/* A shared object that is no plugin. */
#include <headrace/plugin.h>

HR_PLUGIN_EXPORT int hr_plugin_entrance(void) { return 1; }
