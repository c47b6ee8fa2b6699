#include "transport/shm/shm.h"

#include <sys/epoll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "runtime/base/host.h"
#include "runtime/base/wake_event.h"
#include "runtime/comm/ring_stream.h"
#include "runtime/comm/stream_transport.h"
#include "transport/shm/memory_sharer.h"
#include "transport/shm/segment.h"
#include "transport/shm/unix_socket.h"

namespace hr::shm {
namespace {

// Large messages go through the rings; both rings of a connection fit into a core's second-level
// cache.
constexpr size_t kRingBytes = 512 << 10;
constexpr int kMostEdges = 64;
constexpr comm::StreamTraits kTraits = {.eager_bytes = 32 << 10,
                                        .credit_bytes = 1 << 20,
                                        .frame_bytes = 1 << 20,
                                        .read_ahead = 256,
                                        .lends = true};
constexpr auto kHelloTime = std::chrono::seconds(5);
constexpr size_t kMaxWaiting = 256;
// After the hellos a connection's socket only tells that the peer is gone. Edge-triggered: once.
constexpr uint32_t kConnected = EPOLLIN | EPOLLRDHUP | EPOLLET;

// What the side that dials says; the answer is the same.
struct Hello {
  uint64_t magic = 0x6d68735f'63617264;
  uint32_t version = 1;
  uint32_t ring_bytes = kRingBytes;
  friend bool operator==(const Hello&, const Hello&) = default;
};

Bytes HelloBytes(const Hello& hello) {
  return {reinterpret_cast<const std::byte*>(&hello), sizeof hello};
}

// "boot id:network namespace" of this process: where abstract sockets can be reached.
Result<std::string> HostId() {
  HR_ASSIGN_OR_RETURN(const std::string boot, BootId());
  struct stat space {};
  ::stat("/proc/self/ns/net", &space);
  return Cat(boot, ":", space.st_ino);
}

// The other process of a connection.
class ProcessPeer final : public comm::RingPeer {
 public:
  ProcessPeer(Segment segment, Descriptor socket, Descriptor bell)
      : segment_(std::move(segment)), socket_(std::move(socket)), bell_(std::move(bell)) {}

  void Wake() override {
    // The peer answers before it sleeps for the first time, so there is a bell if it sleeps.
    if (HasBell()) WakeEvent::Set(bell_.get());
  }
  bool Alive() override { return HasBell() ? !PeerClosed(socket_.get()) : !refused_; }

 private:
  bool HasBell() {
    if (bell_.valid() || refused_) return bell_.valid();
    Hello hello;
    auto answer =
        ReceiveDescriptors(socket_.get(), reinterpret_cast<std::byte*>(&hello), sizeof hello, 1);
    refused_ = !answer.ok() ||
               (!answer->empty() && (hello != Hello() || !WakeEvent::IsOne(answer->front().get())));
    if (!refused_ && !answer->empty()) bell_ = std::move(answer->front());
    return bell_.valid();
  }

  Segment segment_;
  Descriptor socket_;
  Descriptor bell_;
  bool refused_ = false;
};

std::unique_ptr<comm::ByteStream> OpenStream(Segment segment, Descriptor socket, Descriptor bell,
                                             bool dialled) {
  const comm::RingPair rings = {segment.data(), kRingBytes};
  segment.CloseDescriptor();
  return comm::CreateRingStream(
      rings, dialled,
      std::make_unique<ProcessPeer>(std::move(segment), std::move(socket), std::move(bell)));
}

class ShmTransport final : public comm::StreamTransport {
 public:
  ShmTransport(std::string identity, WakeEvent wake, Descriptor listener, Descriptor epoll,
               std::string_view host, std::string_view socket_name)
      : comm::StreamTransport(kTraits, std::move(identity)),
        wake_(std::move(wake)),
        listener_(std::move(listener)),
        epoll_(std::move(epoll)),
        host_(Cat("shm:", host, ":")),
        address_(Cat(host_, socket_name)) {}

  Status Start() {
    HR_RETURN_IF_ERROR(Watch(wake_.handle(), EPOLLIN));
    return Watch(listener_.get(), EPOLLIN);
  }

  std::string_view name() const override { return "shm"; }
  const std::string& address() const override { return address_; }
  bool Reaches(std::string_view address) const override { return address.starts_with(host_); }
  int wait_handle() const override { return epoll_.get(); }
  comm::MemorySharer* memory_sharer() override { return sharer_.get(); }

 private:
  struct Waiting {
    Descriptor socket;
    std::chrono::steady_clock::time_point give_up;
  };

  // Sockets leave the set when they are closed.
  Status Watch(int descriptor, uint32_t events, int how = EPOLL_CTL_ADD) {
    epoll_event event{};
    event.events = events;
    if (::epoll_ctl(epoll_.get(), how, descriptor, &event) == 0) return {};
    return ResourceExhausted("cannot watch a connection: ", std::strerror(errno));
  }

  Result<std::unique_ptr<comm::ByteStream>> Dial(std::string_view address) override {
    if (!Reaches(address)) {
      return InvalidArgument("expected the address of a process on this host, '", host_,
                             "…', got '", address, "'");
    }
    HR_ASSIGN_OR_RETURN(Descriptor socket, ConnectUnix(address.substr(host_.size())));
    HR_ASSIGN_OR_RETURN(Segment segment, Segment::Create(comm::RingPair::Bytes(kRingBytes)));
    const int passed[] = {segment.descriptor(), wake_.set_handle()};
    HR_RETURN_IF_ERROR(SendDescriptors(socket.get(), HelloBytes(Hello()), passed));
    HR_RETURN_IF_ERROR(Watch(socket.get(), kConnected));
    return OpenStream(std::move(segment), std::move(socket), Descriptor(), true);
  }

  std::unique_ptr<comm::ByteStream> Answer() override {
    const auto now = std::chrono::steady_clock::now();
    while (waiting_.size() < kMaxWaiting) {
      Result<Descriptor> socket = AcceptUnix(listener_.get());
      if (!socket.ok()) NoteFailure(std::move(socket).status());
      if (!socket.ok() || !socket->valid()) break;
      if (!Watch(socket->get(), EPOLLIN).ok()) continue;
      waiting_.push_back({std::move(socket).value(), now + kHelloTime});
    }
    for (auto it = waiting_.begin(); it != waiting_.end();) {
      bool settled = now > it->give_up;
      std::unique_ptr<comm::ByteStream> stream = Welcome(it->socket, &settled);
      it = settled ? waiting_.erase(it) : it + 1;
      if (stream != nullptr) return stream;
    }
    return nullptr;
  }

  // Returns the stream of a process that has said its hello. `settled` is set if nothing more will
  // come from the socket.
  std::unique_ptr<comm::ByteStream> Welcome(Descriptor& socket, bool* settled) {
    Hello hello;
    auto passed =
        ReceiveDescriptors(socket.get(), reinterpret_cast<std::byte*>(&hello), sizeof hello, 2);
    if (passed.ok() && passed->empty()) return nullptr;
    *settled = true;
    NoteExhaustion(passed.status());
    if (!passed.ok() || hello != Hello() || !WakeEvent::IsOne((*passed)[1].get())) return nullptr;
    auto segment = Segment::Map(std::move((*passed)[0]), comm::RingPair::Bytes(kRingBytes));
    NoteExhaustion(segment.status());
    if (!segment.ok()) return nullptr;
    const int bell = wake_.set_handle();
    if (!SendDescriptors(socket.get(), HelloBytes(Hello()), {&bell, 1}).ok() ||
        !Watch(socket.get(), kConnected, EPOLL_CTL_MOD).ok()) {
      return nullptr;
    }
    return OpenStream(std::move(segment).value(), std::move(socket), std::move((*passed)[1]),
                      false);
  }

  // Only a lack of resources is an error of this transport: a stranger that connects and sends
  // nonsense must not keep others out.
  void NoteExhaustion(const Status& status) {
    if (status.code() == Code::kResourceExhausted) NoteFailure(status.Clone());
  }

  void BeginArm() override {
    wake_.Clear();
    // Clears the edges of closed sockets, which Alive() will find closed. If some are left, or
    // somebody waits to be answered, the sleeper only wakes once more.
    epoll_event edges[16];
    for (int i = 0; i < kMostEdges; ++i) {
      if (::epoll_wait(epoll_.get(), edges, std::size(edges), 0) <
          static_cast<int>(std::size(edges)))
        break;
    }
  }
  // The listening socket is in the set, too.
  bool EndArm() override { return true; }

  WakeEvent wake_;
  Descriptor listener_;
  Descriptor epoll_;
  const std::string host_;
  const std::string address_;
  const std::unique_ptr<comm::MemorySharer> sharer_ = CreateMemorySharer();
  std::vector<Waiting> waiting_;  // accepted, without a hello yet
};

}  // namespace

Result<std::unique_ptr<comm::Transport>> CreateShmTransport(std::string identity) {
  std::string socket_name;
  HR_ASSIGN_OR_RETURN(Descriptor listener, ListenUnix(&socket_name));
  HR_ASSIGN_OR_RETURN(const std::string host, HostId());
  HR_ASSIGN_OR_RETURN(WakeEvent wake, WakeEvent::Create());
  Descriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return ResourceExhausted("cannot create an epoll: ", std::strerror(errno));
  auto transport =
      std::make_unique<ShmTransport>(std::move(identity), std::move(wake), std::move(listener),
                                     std::move(epoll), host, socket_name);
  HR_RETURN_IF_ERROR(transport->Start());
  return transport;
}

}  // namespace hr::shm
