// A store that one process keeps for all, over any transport: secrecy and proof of who may come are
// the transport's.
#pragma once

#include <memory>
#include <string>

#include "runtime/comm/hub.h"

namespace hr::comm {

// The process that keeps the store: a memory store that peers reach at `transport->address()`, by a
// thread that sleeps while nobody asks. `url`: what the others open. When it goes, its clients are
// told, and their calls fail.
Result<std::unique_ptr<Store>> ServeStore(std::unique_ptr<Transport> transport, std::string url);

// A client. It connects with its first call, and again where a connection breaks, for as long as a
// call's limits allow; a call that was under way then is carried out once all the same. A host that
// has said goodbye is not asked again.
Result<std::unique_ptr<Store>> ConnectStore(std::unique_ptr<Transport> transport,
                                            std::string address);

// A store at "HOST:PORT", "[IPv6]:PORT" or "//HOST:PORT" over a transport whose addresses begin
// with `scheme`. Where this process is to keep it (settings.serve) and the address is this host's
// and free, it does, at any port where that is 0; else it is a client.
Result<std::unique_ptr<Store>> OpenRemoteStore(const Hub::MakeTransport& make,
                                               std::string_view scheme, std::string_view place,
                                               const StoreSettings& settings);

// The host in the url of such a store; empty for other urls.
std::string HostOfStore(std::string_view url);

}  // namespace hr::comm
