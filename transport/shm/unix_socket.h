// Unix sockets in the abstract namespace, and passing descriptors through them. Nothing here waits.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/file.h"
#include "runtime/base/wake_event.h"

namespace hr::shm {

// Listens at a name that nobody else has; `name` is set to it.
Result<Descriptor> ListenUnix(std::string* name);
Result<Descriptor> ConnectUnix(std::string_view name);
// A connection of a process of the same user; invalid if none waits. RESOURCE_EXHAUSTED.
Result<Descriptor> AcceptUnix(int listener);

// Sends a short message with descriptors.
Status SendDescriptors(int socket, Bytes message, std::span<const int> descriptors);
// Receives one message of exactly `bytes` bytes with exactly `count` descriptors. Empty if none
// has come yet; a failure if it is something else or the peer is gone.
Result<std::vector<Descriptor>> ReceiveDescriptors(int socket, std::byte* message, size_t bytes,
                                                   size_t count);
// True if the peer has closed its end and everything it sent was received.
bool PeerClosed(int socket);

}  // namespace hr::shm
