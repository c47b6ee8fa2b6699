#include "transport/shm/unix_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/errors.h"
#include "runtime/base/host.h"

namespace hr::shm {
namespace {

constexpr int kBacklog = 1024;
constexpr size_t kMaxDescriptors = 4;

bool Exhausted() {
  return errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
}

Status Failed(std::string_view what) {
  return Status(Exhausted() ? Code::kResourceExhausted : Code::kUnavailable,
                Cat(what, ": ", std::strerror(errno)));
}

socklen_t FillAddress(sockaddr_un& address, std::string_view name) {
  std::memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  // A first byte of 0 makes it abstract: gone with its socket.
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

Descriptor NewSocket() {
  return Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

}  // namespace

Result<Descriptor> ListenUnix(std::string* name) {
  *name = Cat("headrace-", ::getpid(), "-", UniqueBits());
  sockaddr_un address;
  const socklen_t length = FillAddress(address, *name);
  Descriptor socket = NewSocket();
  if (!socket.valid() || ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    return Failed("cannot listen on a Unix socket");
  }
  return socket;
}

Result<Descriptor> ConnectUnix(std::string_view name) {
  sockaddr_un address;
  if (name.empty() || name.size() + 1 > sizeof address.sun_path) {
    return InvalidArgument("expected a socket name of 1 to ", sizeof address.sun_path - 1,
                           " bytes, got ", name.size());
  }
  const socklen_t length = FillAddress(address, name);
  Descriptor socket = NewSocket();
  if (!socket.valid() ||
      ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) {
    return Failed(Cat("cannot connect to the process at ", name));
  }
  return socket;
}

Result<Descriptor> AcceptUnix(int listener) {
  for (;;) {
    Descriptor socket(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.valid() && Exhausted()) return Failed("cannot accept a connection");
    if (!socket.valid()) return socket;
    ucred peer{};
    socklen_t size = sizeof peer;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size);
    if (peer.uid == ::geteuid()) return socket;
  }
}

Status SendDescriptors(int socket, Bytes message, std::span<const int> descriptors) {
  iovec piece = {const_cast<std::byte*>(message.data()), message.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
  if (::sendmsg(socket, &header, MSG_NOSIGNAL) != static_cast<ssize_t>(message.size())) {
    return Failed("cannot pass descriptors to the peer process");
  }
  return {};
}

Result<std::vector<Descriptor>> ReceiveDescriptors(int socket, std::byte* message, size_t bytes,
                                                   size_t count) {
  iovec piece = {message, bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))];
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  const ssize_t got = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::vector<Descriptor>();
  std::vector<Descriptor> received;
  for (cmsghdr* rights = got < 0 ? nullptr : CMSG_FIRSTHDR(&header); rights != nullptr;
       rights = CMSG_NXTHDR(&header, rights)) {
    if (rights->cmsg_level != SOL_SOCKET || rights->cmsg_type != SCM_RIGHTS) continue;
    for (size_t at = 0; CMSG_LEN(at + sizeof(int)) <= rights->cmsg_len; at += sizeof(int)) {
      int descriptor;
      std::memcpy(&descriptor, CMSG_DATA(rights) + at, sizeof descriptor);
      received.emplace_back(descriptor);
    }
  }
  if (got == static_cast<ssize_t>(bytes) && received.size() == count &&
      (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0) {
    return received;
  }
  if (got > 0 && (header.msg_flags & MSG_CTRUNC) != 0 && received.size() < count) {
    return ResourceExhausted("cannot take the descriptors of a peer process",
                             "; raise the limit of open files (ulimit -n)");
  }
  if (got <= 0) return Unavailable("the peer process is gone");
  return DataLoss("the process on the Unix socket does not speak this version of Headrace");
}

bool PeerClosed(int socket) {
  char byte;
  const ssize_t got = ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  // Nothing may come after the hellos. A peer that sends more counts as gone: its bytes would hide
  // its end.
  return got >= 0 || (errno != EAGAIN && errno != EINTR);
}

}  // namespace hr::shm
