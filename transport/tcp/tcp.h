// The transport over TCP.
//
// The calling thread writes and reads the sockets itself, and large messages go straight between
// the socket and their memory; libuv's loop is what a sleeper waits on. With a secret every
// connection is TLS 1.3 between two sides that have proven it; without, all is plain text.
#pragma once

#include <memory>
#include <string>

#include "runtime/comm/transport.h"

namespace hr::comm {

struct TcpOptions {
  // The numeric IPv4 or IPv6 address to listen at, which is also published. Port 0 takes a free
  // one.
  std::string host = "127.0.0.1";
  int port = 0;
  // The cluster secret, at least kMinSecret bytes; empty: plain text.
  std::string secret;
  // The network can be trusted with plain text. Without it that is for loopback addresses only.
  bool trusted_fabric = false;
};

// `identity`: see Endpoint::peer_identity. Addresses are "tcp:1.2.3.4:5678" and "tcp:[::1]:5678".
Result<std::unique_ptr<Transport>> CreateTcpTransport(const TcpOptions& options,
                                                      std::string identity);

// The address of this host that the route to `host` leaves from: what to listen at so that it can
// reach us. Sends nothing.
Result<std::string> LocalAddressTowards(const std::string& host);

}  // namespace hr::comm
