// The plugin's side, for transports written against comm::Transport: an entry is one call,
//
//   HR_PLUGIN_EXPORT hr_status* hr_plugin_entry(const hr_plugin_host* host, hr_plugin* out) {
//     return hr::plugin::OfferTransport(host, out, "net", "tcp", tcp::CreateTcpTransport);
//   }
#pragma once

#include "headrace/plugin.h"
#include "runtime/comm/transport.h"

namespace hr::plugin {

// What a transport finds on a machine; see hr_plugin_transport_table.
struct TransportFindings {
  std::string devices;
  bool preferred = true;
};

// `make` is not called if the versions differ. `look` is called when somebody wants to know.
// Names are literals.
hr_status* OfferTransport(const hr_plugin_host* host, hr_plugin* out, const char* name,
                          const char* kind,
                          Result<std::unique_ptr<comm::Transport>> (*make)(
                              const comm::TransportSettings& settings, std::string identity),
                          TransportFindings (*look)() = nullptr);

}  // namespace hr::plugin
