// Sockets that never wait, and their addresses as text.
#pragma once

#include <netinet/in.h>

#include <string>
#include <string_view>

#include "runtime/base/file.h"
#include "runtime/base/wake_event.h"

namespace hr::tcp {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  // From a host's address or name. A name may stand for several addresses: the n-th, counted round.
  static Result<SocketAddress> From(const std::string& host, int port, unsigned n = 0);
  // From "tcp:1.2.3.4:5678", "tcp:[::1]:5678" or "tcp:name:5678"; the first two also back.
  static Result<SocketAddress> Parse(std::string_view text, unsigned n = 0);
  std::string Text() const;
  std::string Host() const;
  int port() const;
  bool loopback() const;
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Result<Descriptor> ListenTcp(const SocketAddress& address);
// Starts to connect; the socket becomes writable, or fails, later.
Result<Descriptor> ConnectTcp(const SocketAddress& address);
// Invalid if nobody waits. RESOURCE_EXHAUSTED.
Result<Descriptor> AcceptTcp(int listener);
Result<SocketAddress> LocalAddress(int socket);
// Whom it is connected to, for messages.
std::string PeerAddress(int socket);

// The address of this host that the route to an address leaves from. Sends nothing.
Result<SocketAddress> LocalAddressTowards(const SocketAddress& there);

// 0 if the socket takes or has nothing now. A failure is final; a peer that closed is one, too.
Result<size_t> WriteSocket(int socket, std::span<const Bytes> pieces);
Result<size_t> ReadSocket(int socket, std::byte* to, size_t bytes);

}  // namespace hr::tcp
