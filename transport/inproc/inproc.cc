#include "transport/inproc/inproc.h"

#include <deque>
#include <map>
#include <mutex>

#include "runtime/base/allocator.h"
#include "runtime/base/host.h"
#include "runtime/base/wake_event.h"
#include "runtime/comm/ring_stream.h"
#include "runtime/comm/stream_transport.h"

namespace hr::inproc {
namespace {

constexpr size_t kRingBytes = 256 << 10;
constexpr comm::StreamTraits kTraits = {
    .eager_bytes = 8 << 10, .credit_bytes = 1 << 20, .frame_bytes = 256 << 10, .read_ahead = 0};

// What both ends of a connection hold.
struct Wire {
  Block memory;
  std::shared_ptr<WakeEvent> wake[2];  // of the side that dialled, and of the other
  std::atomic<bool> open[2] = {true, true};
};

class WireEnd final : public comm::RingPeer {
 public:
  WireEnd(std::shared_ptr<Wire> wire, int side) : wire_(std::move(wire)), side_(side) {}
  ~WireEnd() override {
    wire_->open[side_].store(false, std::memory_order_release);
    Wake();
  }
  void Wake() override { wire_->wake[1 - side_]->Set(); }
  bool Alive() override { return wire_->open[1 - side_].load(std::memory_order_acquire); }

 private:
  std::shared_ptr<Wire> wire_;
  const int side_;
};

std::unique_ptr<comm::ByteStream> OpenEnd(std::shared_ptr<Wire> wire, int side) {
  const comm::RingPair rings = {wire->memory.begin(), kRingBytes};
  return comm::CreateRingStream(rings, side == 0, std::make_unique<WireEnd>(std::move(wire), side));
}

}  // namespace

class InprocNetwork {
 public:
  explicit InprocNetwork(std::string name) : name_(std::move(name)) {}
  std::string_view name() const { return name_; }

  // One listening transport: the wires dialled to it, and what wakes it.
  struct Listener {
    std::shared_ptr<WakeEvent> wake;
    std::deque<std::shared_ptr<Wire>> dialled;
  };

  std::string Listen(std::shared_ptr<WakeEvent> wake) {
    std::lock_guard lock(mutex_);
    std::string address = Cat(name_, ":", id_, ":", ++last_);
    listeners_[address].wake = std::move(wake);
    return address;
  }
  void Leave(const std::string& address) {
    std::lock_guard lock(mutex_);
    for (auto& wire : listeners_[address].dialled) {
      wire->open[1] = false;
      wire->wake[0]->Set();
    }
    listeners_.erase(address);
  }
  bool Knows(std::string_view address) {
    std::lock_guard lock(mutex_);
    return listeners_.find(address) != listeners_.end();
  }
  Status Dial(std::string_view address, const std::shared_ptr<Wire>& wire) {
    std::lock_guard lock(mutex_);
    auto found = listeners_.find(address);
    if (found == listeners_.end()) {
      return Unavailable("nothing in this process listens at '", address, "'");
    }
    wire->wake[1] = found->second.wake;
    found->second.dialled.push_back(wire);
    wire->wake[1]->Set();
    return {};
  }
  std::shared_ptr<Wire> Answer(const std::string& address) {
    std::lock_guard lock(mutex_);
    auto& dialled = listeners_[address].dialled;
    if (dialled.empty()) return nullptr;
    std::shared_ptr<Wire> wire = std::move(dialled.front());
    dialled.pop_front();
    return wire;
  }
  bool Quiet(const std::string& address) {
    std::lock_guard lock(mutex_);
    return listeners_[address].dialled.empty();
  }

 private:
  const std::string name_;
  const uint64_t id_ = UniqueBits();  // other processes have networks, too
  std::mutex mutex_;
  uint64_t last_ = 0;
  std::map<std::string, Listener, std::less<>> listeners_;
};

namespace {

class InprocTransport final : public comm::StreamTransport {
 public:
  InprocTransport(std::shared_ptr<InprocNetwork> network, WakeEvent wake, std::string identity)
      : comm::StreamTransport(kTraits, std::move(identity)),
        network_(std::move(network)),
        wake_(std::make_shared<WakeEvent>(std::move(wake))),
        address_(network_->Listen(wake_)) {}
  ~InprocTransport() override { network_->Leave(address_); }

  std::string_view name() const override { return network_->name(); }
  const std::string& address() const override { return address_; }
  bool Reaches(std::string_view address) const override { return network_->Knows(address); }
  int wait_handle() const override { return wake_->handle(); }

 private:
  Result<std::unique_ptr<comm::ByteStream>> Dial(std::string_view address) override {
    auto wire = std::make_shared<Wire>();
    HR_ASSIGN_OR_RETURN(wire->memory,
                        Block::CreateZeroed(SystemAllocator(), comm::RingPair::Bytes(kRingBytes)));
    wire->wake[0] = wake_;
    HR_RETURN_IF_ERROR(network_->Dial(address, wire));
    return OpenEnd(std::move(wire), 0);
  }
  std::unique_ptr<comm::ByteStream> Answer() override {
    std::shared_ptr<Wire> wire = network_->Answer(address_);
    return wire == nullptr ? nullptr : OpenEnd(std::move(wire), 1);
  }
  void BeginArm() override { wake_->Clear(); }
  bool EndArm() override { return network_->Quiet(address_); }

  std::shared_ptr<InprocNetwork> network_;
  std::shared_ptr<WakeEvent> wake_;
  const std::string address_;
};

}  // namespace

std::shared_ptr<InprocNetwork> CreateInprocNetwork(std::string name) {
  return std::make_shared<InprocNetwork>(std::move(name));
}

Result<std::unique_ptr<comm::Transport>> CreateInprocTransport(
    std::shared_ptr<InprocNetwork> network, std::string identity) {
  HR_ASSIGN_OR_RETURN(WakeEvent wake, WakeEvent::Create());
  return std::make_unique<InprocTransport>(std::move(network), std::move(wake),
                                           std::move(identity));
}

}  // namespace hr::inproc
