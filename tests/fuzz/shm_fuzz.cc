// Any bytes and descriptors as the hello, or its answer, of a process on the Unix socket of shared
// memory, and then any bytes as what the memory holds: who says anything else than a hello is
// dropped, what came with it is closed, and nothing outside the memory is touched. The first byte
// says which side is tried and how many descriptors come, two bits each of the next four which.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "runtime/comm/ring_stream.h"
#include "transport/shm/segment.h"
#include "transport/shm/shm.h"
#include "transport/shm/unix_socket.h"

namespace {

using namespace hr;
using namespace hr::comm;

constexpr size_t kMostDescriptors = 15;
constexpr size_t kPieceBytes = sizeof(RingMemory) + 128;  // of a ring and what it holds

void Check(bool condition) {
  if (!condition) std::abort();
}

struct Tried {
  std::array<std::byte, 200> data;
  Transfer transfer;
  int ended = 0;

  explicit Tried(uint64_t tag) {
    transfer.data = data.data();
    transfer.bytes = data.size();
    transfer.tag = tag;
    transfer.owner = this;
    transfer.done = [](Transfer& t) { ++static_cast<Tried*>(t.owner)->ended; };
  }
};

std::unique_ptr<Transport> NewTransport() {
  return std::move(shm::CreateShmTransport("fuzz")).value();
}

// Where a transport of this process listens.
std::string_view NameIn(std::string_view address) { return address.substr(address.rfind(':') + 1); }

// What a transport says to one that it dials.
struct Hello {
  std::string text;
  size_t memory_bytes = 0;
};

// A transport that dials us.
struct Caller {
  std::unique_ptr<Transport> transport = NewTransport();
  std::unique_ptr<Endpoint> endpoint;
  Descriptor socket;

  Caller() {
    std::string name;
    const Descriptor listener = std::move(shm::ListenUnix(&name)).value();
    const std::string& address = transport->address();
    endpoint =
        std::move(transport->Connect(address.substr(0, address.rfind(':') + 1) + name)).value();
    socket = std::move(shm::AcceptUnix(listener.get())).value();
  }
};

Hello HearHello() {
  const Caller caller;
  const int socket = caller.socket.get();
  Hello hello;
  hello.text.resize(256);
  const ssize_t got = ::recv(socket, hello.text.data(), hello.text.size(), MSG_PEEK);
  Check(got > 0);
  hello.text.resize(static_cast<size_t>(got));
  auto* text = reinterpret_cast<std::byte*>(hello.text.data());
  auto passed = std::move(shm::ReceiveDescriptors(socket, text, hello.text.size(), 2)).value();
  hello.memory_bytes = static_cast<size_t>(::lseek(passed[0].get(), 0, SEEK_END));
  return hello;
}

// Has it look at all that came.
void Turn(Transport& transport) {
  for (int turn = 0; turn < 3; ++turn) {
    transport.Arm();
    transport.Progress();
  }
}

int OpenDescriptors() {
  int count = 0;
  for (int fd = 0; fd < 200; ++fd) count += ::fcntl(fd, F_GETFD) >= 0;
  return count;
}

// What the peer has to pass, and more than it should.
class Offer {
 public:
  explicit Offer(size_t memory_bytes)
      : memory_(std::move(shm::Segment::Create(memory_bytes)).value()),
        small_(std::move(shm::Segment::Create(4096)).value()),
        open_(::memfd_create("fuzz", MFD_CLOEXEC)),
        bell_(std::move(WakeEvent::Create()).value()) {
    Check(::ftruncate(open_.get(), static_cast<off_t>(memory_bytes)) == 0);
    kinds_ = {memory_.descriptor(), bell_.set_handle(), small_.descriptor(), open_.get()};
  }
  int descriptor(unsigned kind) const { return kinds_[kind % kinds_.size()]; }
  std::byte* memory() const { return memory_.data(); }

 private:
  shm::Segment memory_, small_;
  Descriptor open_;  // not sealed
  WakeEvent bell_;
  std::array<int, 4> kinds_;
};

class Input {
 public:
  Input(const uint8_t* data, size_t size) : rest_(reinterpret_cast<const std::byte*>(data), size) {}
  Bytes Take(size_t bytes) {
    const Bytes taken = rest_.first(std::min(bytes, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  uint32_t Number(size_t bytes) {
    uint32_t number = 0;
    const Bytes taken = Take(bytes);
    if (!taken.empty()) std::memcpy(&number, taken.data(), taken.size());
    return number;
  }

 private:
  Bytes rest_;
};

void Pass(int socket, const std::string& message, const Offer& offer, size_t count,
          uint32_t kinds) {
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))] = {};
  iovec piece = {const_cast<char*>(message.data()), message.size()};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  if (count > 0) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(count * sizeof(int));
    for (size_t i = 0; i < count; ++i, kinds >>= 2) {
      const int descriptor = offer.descriptor(kinds);
      std::memcpy(CMSG_DATA(rights) + i * sizeof(int), &descriptor, sizeof descriptor);
    }
  }
  ::sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// The right hello, but for what the input changes, and in place of its end how much shorter it is.
std::string Changed(std::string hello, Input& input) {
  const size_t cut = input.Number(1);
  const Bytes change = input.Take(hello.size());
  for (size_t i = 0; i < change.size(); ++i) hello[i] ^= static_cast<char>(change[i]);
  hello.resize(hello.size() - std::min(cut, hello.size()));
  return hello;
}

// Fills what both sides see, in turns with the side that is tried.
void Play(Transport& transport, Endpoint& endpoint, const Offer& offer, size_t bytes,
          Input& input) {
  Tried receives[] = {Tried(1), Tried(2)}, send(1);
  for (Tried& one : receives) endpoint.Recv(one.transfer);
  endpoint.Send(send.transfer);
  for (Bytes piece = input.Take(kPieceBytes); !piece.empty(); piece = input.Take(kPieceBytes)) {
    const size_t ring = (input.Number(1) & 1) * (bytes / 2);
    std::memcpy(offer.memory() + ring, piece.data(), piece.size());
    for (int turn = 0; turn < 50; ++turn) transport.Progress();
    transport.Arm();
  }
  for (Tried& one : receives) endpoint.Cancel(one.transfer);
  endpoint.Cancel(send.transfer);
  for (const Tried& one : receives) Check(one.ended == 1);
  Check(send.ended == 1);
}

void TryAnswering(const Hello& hello, const std::string& said, const Offer& offer, size_t count,
                  uint32_t kinds, Input& input) {
  auto transport = NewTransport();
  const Descriptor socket = std::move(shm::ConnectUnix(NameIn(transport->address()))).value();
  Pass(socket.get(), said, offer, count, kinds);
  const bool right = said == hello.text && count == 2 &&
                     offer.descriptor(kinds) == offer.descriptor(0) &&
                     offer.descriptor(kinds >> 2) == offer.descriptor(1);
  std::byte answer[256];
  Turn(*transport);
  Check((::recv(socket.get(), answer, sizeof answer, MSG_DONTWAIT) > 0) == right);
  // It is no peer before it has said in the memory who it is.
  if (right) {
    const Bytes piece = input.Take(kPieceBytes);
    std::memcpy(offer.memory(), piece.data(), piece.size());
    Turn(*transport);
  }
  Check(transport->status().ok());  // nothing is exhausted
  if (auto endpoint = transport->Accept()) {
    Play(*transport, *endpoint, offer, hello.memory_bytes, input);
  }
}

void TryDialling(const std::string& said, const Offer& offer, size_t count, uint32_t kinds) {
  const Caller caller;
  Endpoint& endpoint = *caller.endpoint;
  Pass(caller.socket.get(), said, offer, count, kinds);
  Tried receive(1);
  endpoint.Recv(receive.transfer);
  Turn(*caller.transport);
  Check(endpoint.status().ok() || !endpoint.status().message().empty());
  if (receive.ended == 0) endpoint.Cancel(receive.transfer);
  Check(receive.ended == 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Hello& hello = *new Hello(HearHello());
  Input input(data, size);
  const int before = OpenDescriptors();
  {
    const Offer offer(hello.memory_bytes);
    const uint32_t first = input.Number(1), kinds = input.Number(4);
    const size_t count = first >> 1 & kMostDescriptors;
    const std::string said = Changed(hello.text, input);
    if ((first & 1) == 0) {
      TryAnswering(hello, said, offer, count, kinds, input);
    } else {
      TryDialling(said, offer, count, kinds);
    }
  }
  Check(OpenDescriptors() == before);
  return 0;
}
