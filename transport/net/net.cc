#include "transport/net/net.h"

#include "runtime/plugin/guest_transport.h"
#include "transport/tcp/tcp.h"

namespace hr::net {

hr_status* NetPluginEntry(const hr_plugin_host* host, hr_plugin* out) {
  return plugin::OfferTransport(host, out, "net", "tcp", tcp::CreateTcpTransport);
}

}  // namespace hr::net
