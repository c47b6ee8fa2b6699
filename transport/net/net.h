// The plugin "net": TCP with TLS, and what it needs of others, libuv and OpenSSL.
#pragma once

#include "headrace/plugin.h"

namespace hr::net {

hr_status* NetPluginEntry(const hr_plugin_host* host, hr_plugin* out);

}  // namespace hr::net
