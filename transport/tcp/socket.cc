#include "transport/tcp/socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "runtime/base/errors.h"

namespace hr::tcp {
namespace {

constexpr int kBacklog = 1024;
constexpr size_t kMaxPieces = 8;

bool Later(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR || error == EINPROGRESS ||
         error == ENOTCONN;
}

bool Exhausted() {
  return errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
}

Status Failed(std::string_view what) {
  return Status(Exhausted() ? Code::kResourceExhausted : Code::kUnavailable,
                Cat(what, ": ", std::strerror(errno)));
}

Descriptor NewSocket(int family) {
  return Descriptor(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

// Bytes that the kernel takes before the network does: enough to keep it busy, and few enough that
// what is urgent does not wait behind them.
constexpr int kUnsentBytes = 256 << 10;

constexpr int kKeepIdleSeconds = 10, kKeepProbeSeconds = 3, kKeepProbes = 3;

// Small messages go at once. On loopback there is no congestion to control, and the simplest
// algorithm is the fastest. If an option is missing, the default stays.
void Tune(int socket, bool loopback) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // A connection to the store may have nothing to say for hours, and be forgotten on its way.
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &kKeepIdleSeconds, sizeof kKeepIdleSeconds);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &kKeepProbeSeconds, sizeof kKeepProbeSeconds);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &kKeepProbes, sizeof kKeepProbes);
  if (loopback) {
    ::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
  } else {
    ::setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsentBytes, sizeof kUnsentBytes);
  }
}

Result<SocketAddress> LookUp(const std::string& host, int port, unsigned n) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  // A host that has only digits, dots and colons is a mistyped address, not a name to look up.
  const bool name = host.find_first_not_of("0123456789.:") != std::string::npos;
  if (!name || ::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) {
    return InvalidArgument("expected an IPv4 or IPv6 address, or a host's name, got '", host, "'");
  }
  unsigned count = 0;
  for (addrinfo* one = found; one != nullptr; one = one->ai_next) ++count;
  addrinfo* chosen = found;
  for (n %= count; n > 0; --n) chosen = chosen->ai_next;
  SocketAddress address;
  std::memcpy(&address.storage, chosen->ai_addr, chosen->ai_addrlen);
  address.length = chosen->ai_addrlen;
  // The port stands at the same place in both families.
  reinterpret_cast<sockaddr_in*>(&address.storage)->sin_port = htons(static_cast<uint16_t>(port));
  ::freeaddrinfo(found);
  return address;
}

}  // namespace

Result<SocketAddress> SocketAddress::From(const std::string& host, int port, unsigned n) {
  if (port < 0 || port > 65535) {
    return InvalidArgument("expected a port from 0 to 65535, got ", port);
  }
  SocketAddress address;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (::inet_pton(AF_INET, host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(static_cast<uint16_t>(port));
    address.length = sizeof *v4;
  } else if (::inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(static_cast<uint16_t>(port));
    address.length = sizeof *v6;
  } else {
    return LookUp(host, port, n);
  }
  return address;
}

Result<SocketAddress> SocketAddress::Parse(std::string_view text, unsigned n) {
  const std::string_view given = text;
  const size_t colon = text.rfind(':');
  if (text.starts_with("tcp:") && colon > 4) {
    std::string_view host = text.substr(4, colon - 4), digits = text.substr(colon + 1);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    int port = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (error == std::errc() && end == digits.data() + digits.size() && port > 0) {
      return From(std::string(host), port, n);
    }
  }
  return InvalidArgument("expected an address like tcp:1.2.3.4:5678 or tcp:[::1]:5678, got '",
                         given, "'");
}

std::string SocketAddress::Host() const {
  char host[INET6_ADDRSTRLEN] = "";
  if (storage.ss_family == AF_INET) {
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(&storage)->sin_addr, host,
                sizeof host);
  } else {
    ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_addr, host,
                sizeof host);
  }
  return host;
}

// The port stands at the same place in both families.
int SocketAddress::port() const {
  return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
}

std::string SocketAddress::Text() const {
  return storage.ss_family == AF_INET ? Cat("tcp:", Host(), ":", port())
                                      : Cat("tcp:[", Host(), "]:", port());
}

bool SocketAddress::loopback() const {
  if (storage.ss_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(&storage);
    return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
  }
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_addr);
}

Result<Descriptor> ListenTcp(const SocketAddress& address) {
  Descriptor socket = NewSocket(address.storage.ss_family);
  const int on = 1;
  if (!socket.valid() ||
      ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(socket.get(), address.get(), address.length) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    const std::string what = Cat("cannot listen at ", address.Text());
    if (errno == EADDRINUSE) return AlreadyExists(what, ": the port is taken");
    if (errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT) {
      return NotFound(what, ": this is not an address of this host");
    }
    return Failed(what);
  }
  return socket;
}

Result<Descriptor> ConnectTcp(const SocketAddress& address) {
  Descriptor socket = NewSocket(address.storage.ss_family);
  if (socket.valid()) Tune(socket.get(), address.loopback());
  if (!socket.valid() ||
      (::connect(socket.get(), address.get(), address.length) != 0 && errno != EINPROGRESS)) {
    return Failed(Cat("cannot connect to ", address.Text()));
  }
  return socket;
}

Result<Descriptor> AcceptTcp(int listener) {
  SocketAddress peer;
  peer.length = sizeof peer.storage;
  Descriptor socket(::accept4(listener, peer.get(), &peer.length, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket.valid() && Exhausted()) return Failed("cannot accept a connection");
  if (!socket.valid()) return socket;
  Tune(socket.get(), peer.loopback());
  return socket;
}

Result<SocketAddress> LocalAddress(int socket) {
  SocketAddress address;
  address.length = sizeof address.storage;
  if (::getsockname(socket, address.get(), &address.length) != 0) return Failed("getsockname");
  return address;
}

Result<SocketAddress> LocalAddressTowards(const SocketAddress& there) {
  // Connecting a datagram socket only looks the route up.
  Descriptor socket(::socket(there.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.valid() || ::connect(socket.get(), there.get(), there.length) != 0) {
    return Unavailable("there is no route to ", there.Host());
  }
  return LocalAddress(socket.get());
}

std::string PeerAddress(int socket) {
  SocketAddress address;
  address.length = sizeof address.storage;
  const bool known = ::getpeername(socket, address.get(), &address.length) == 0;
  return known ? address.Text() : "somebody";
}

Result<size_t> WriteSocket(int socket, std::span<const Bytes> pieces) {
  iovec vector[kMaxPieces];
  msghdr message{};
  message.msg_iov = vector;
  message.msg_iovlen = std::min(pieces.size(), kMaxPieces);
  for (size_t i = 0; i < message.msg_iovlen; ++i) {
    vector[i] = {const_cast<std::byte*>(pieces[i].data()), pieces[i].size()};
  }
  const ssize_t written = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  if (written >= 0) return static_cast<size_t>(written);
  if (Later(errno)) return size_t{0};
  return Failed("the connection failed");
}

Result<size_t> ReadSocket(int socket, std::byte* to, size_t bytes) {
  const ssize_t got = ::recv(socket, to, bytes, 0);
  if (got > 0) return static_cast<size_t>(got);
  if (got == 0) return Unavailable("the peer closed the connection without a goodbye");
  if (Later(errno)) return size_t{0};
  return Failed("the connection failed");
}

}  // namespace hr::tcp
