// A plugin's backend table as a Backend: what the host's side needs.
#pragma once

#include <memory>

#include "runtime/device/backend.h"
#include "runtime/plugin/plugin.h"

namespace hr::plugin {

// The plugin must have a backend. Devices, and memory that came from them, keep the plugin; other
// objects are released before the backend.
Result<std::unique_ptr<Backend>> CreateBackend(std::shared_ptr<Plugin> plugin);

}  // namespace hr::plugin
