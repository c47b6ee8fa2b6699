// The host's side of a plugin's transports.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headrace/plugin_transport.h"
#include "runtime/comm/transport.h"
#include "runtime/plugin/plugin.h"

namespace hr::plugin {

// A transport of the plugin, which has this kind. It holds the plugin.
Result<std::unique_ptr<comm::Transport>> CreateTransport(std::shared_ptr<Plugin> plugin,
                                                         const std::string& kind,
                                                         const comm::TransportSettings& settings,
                                                         const std::string& identity);

// Those that the plugin has.
std::vector<const char*> TransportKinds(const Plugin& plugin);
// A failure if the plugin has no such kind.
Status CheckHasTransport(const Plugin& plugin, std::string_view kind);

// See hr_plugin_transport_table, which `plugin` has and which knows the kind.
inline std::string TransportDevices(const Plugin& plugin, const char* kind) {
  return plugin.transport()->devices(plugin.self(), kind);
}
inline bool IsPreferred(const Plugin& plugin, const char* kind) {
  return plugin.transport()->preferred(plugin.self(), kind) != 0;
}

}  // namespace hr::plugin
