// The transport over TCP.
//
// The calling thread writes and reads the sockets itself, and large messages go straight between
// the socket and their memory; libuv's loop is what a sleeper waits on. With a secret every
// connection is TLS 1.3 between two sides that have proven it; without, all is plain text.
#pragma once

#include <memory>
#include <string>

#include "runtime/comm/transport.h"

namespace hr::tcp {

// `identity`: see Endpoint::peer_identity. A secret has at least kMinSecret bytes. Addresses are
// "tcp:1.2.3.4:5678", "tcp:[::1]:5678" and "tcp:name:5678"; names are looked up when they are used,
// which may take a while.
Result<std::unique_ptr<comm::Transport>> CreateTcpTransport(const comm::TransportSettings& settings,
                                                            std::string identity);

}  // namespace hr::tcp
