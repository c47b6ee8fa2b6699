// The transport between threads of one process: rings in ordinary memory.
#pragma once

#include <memory>
#include <string>

#include "runtime/comm/transport.h"

namespace hr::inproc {

// Where the inproc transports of one env find each other. Thread-safe; lives as long as any of
// them, which keep it alive. Their name, with which their addresses begin, is `name`.
class InprocNetwork;
std::shared_ptr<InprocNetwork> CreateInprocNetwork(std::string name = "inproc");

// `identity`: see Endpoint::peer_identity.
Result<std::unique_ptr<comm::Transport>> CreateInprocTransport(
    std::shared_ptr<InprocNetwork> network, std::string identity);

}  // namespace hr::inproc
