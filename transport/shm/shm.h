// The transport between processes of one host: rings in shared memory.
//
// Processes meet on a Unix socket, through which the one that dials passes a sealed memory file and
// both pass what wakes them. That the descriptors arrive proves that memory can be shared; boot id
// and network namespace, part of the address, only say whether to try. The socket stays open: the
// kernel closes it when a process dies, however it dies, which the other notices at once. Nothing
// has a name in the file system, so nothing is left behind. Only processes of the same user
// connect.
#pragma once

#include <memory>
#include <string>

#include "runtime/comm/transport.h"

namespace hr::shm {

// `identity`: see Endpoint::peer_identity.
Result<std::unique_ptr<comm::Transport>> CreateShmTransport(std::string identity);

}  // namespace hr::shm
