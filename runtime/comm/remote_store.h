// A store that one process keeps for all others, over any transport. The transport encrypts and
// authenticates.
#pragma once

#include <memory>
#include <string>

#include "runtime/comm/hub.h"

namespace hr::comm {

// Keeps a memory store that peers reach at `transport->address()`. A thread of the store answers
// their requests and sleeps while there are none. `url` is what the others open. When the store is
// destroyed, its clients are told, and their calls fail.
Result<std::unique_ptr<Store>> ServeStore(std::unique_ptr<Transport> transport, std::string url);

// Creates a client. It connects with its first call, and reconnects if the connection breaks,
// within the limits of the call. A call during which the connection broke is still carried out
// exactly once. After the server has closed the connection, the client does not reconnect.
Result<std::unique_ptr<Store>> ConnectStore(std::unique_ptr<Transport> transport,
                                            std::string address);

// Opens the store at "HOST:PORT", "[IPv6]:PORT" or "//HOST:PORT" over a transport whose addresses
// begin with `scheme`. If settings.serve is set and the address is of this host and free, this
// process keeps the store (port 0: at any free port). Otherwise it is a client.
Result<std::unique_ptr<Store>> OpenRemoteStore(const Hub::MakeTransport& make,
                                               std::string_view scheme, std::string_view place,
                                               const StoreSettings& settings);

// Returns the host in the URL of such a store; empty for other URLs.
std::string HostOfStore(std::string_view url);

}  // namespace hr::comm
