// The host's side of a plugin's transports.
#pragma once

#include <memory>
#include <string>

#include "runtime/comm/transport.h"
#include "runtime/plugin/plugin.h"

namespace hr::plugin {

// A transport of the plugin, which has this kind. It holds the plugin.
Result<std::unique_ptr<comm::Transport>> CreateTransport(std::shared_ptr<Plugin> plugin,
                                                         const std::string& kind,
                                                         const comm::TransportSettings& settings,
                                                         std::string identity);

// A failure where the plugin has no such kind.
Status CheckHasTransport(const Plugin& plugin, std::string_view kind);

}  // namespace hr::plugin
