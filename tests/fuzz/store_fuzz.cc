// Any messages as what a client sends a store's server, or such a server its client: each call ends
// once, the server hears on and keeps no more than a bounded number of replies, and failures have a
// sentence. The first byte says which side is tried, and whether the client takes its replies at
// once.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtime/comm/remote_store.h"
#include "runtime/comm/store_messages.h"

namespace {

using namespace hr;
using namespace hr::comm;

constexpr size_t kMostReplies = 66;  // that are kept for a client, each of kMaxReplyBytes at most
constexpr size_t kMostZeros = StoreCall::kMaxBytes + 64;  // too long for any

void Check(bool condition) {
  if (!condition) std::abort();
}

// Messages, each as two numbers of 16 bits, so many bytes, and so many times 64 zero bytes more, as
// far as all of those are not too many.
class Input {
 public:
  explicit Input(Bytes bytes) : rest_(bytes) {}
  bool empty() const { return rest_.size() < 4; }
  std::string Next() {
    uint16_t numbers[2];
    std::memcpy(numbers, rest_.data(), sizeof numbers);
    rest_ = rest_.subspan(sizeof numbers);
    const Bytes given = rest_.first(std::min<size_t>(numbers[0], rest_.size()));
    rest_ = rest_.subspan(given.size());
    const size_t zeros = std::min(size_t{64} * numbers[1], zeros_left_);
    zeros_left_ -= zeros;
    return std::string(AsText(given)).append(zeros, '\0');
  }

 private:
  Bytes rest_;
  size_t zeros_left_ = kMostZeros;
};

struct Trial {
  Input input;
  const bool server;  // is tried
  const bool prompt;  // the peer takes at once what is sent
  std::atomic<bool> gone{false};
};

void End(Transfer& transfer, Status status) {
  transfer.status = std::move(status);
  transfer.done(transfer);
}

class FuzzEndpoint final : public Endpoint {
 public:
  explicit FuzzEndpoint(Trial& trial) : trial_(trial) {}
  ~FuzzEndpoint() override {
    trial_.gone = true;
    trial_.gone.notify_all();
  }
  bool established() const override { return true; }
  std::string_view peer_identity() const override { return "fuzz"; }
  const Status& status() const override { return status_; }
  bool peer_left() const override { return false; }
  void Send(Transfer& transfer) override {
    if (trial_.server) CheckReply(transfer);
    if (trial_.prompt) return End(transfer, {});
    sends_.push_back(&transfer);
    Check(sends_.size() <= kMostReplies);
  }
  void Recv(Transfer& transfer) override { receives_.push_back(&transfer); }
  void Cancel(Transfer& transfer) override {
    Check(!trial_.server && std::erase(sends_, &transfer) == 1);
    End(transfer, Cancelled("the server replied before it had the request"));
  }
  void Close(std::string_view reason) override {
    Check(!reason.empty());
    Fail();
  }
  bool flushed() const override { return true; }
  uint64_t arrivals() const override { return 0; }

  bool Progress() {
    if (!status_.ok()) return false;
    if (trial_.input.empty()) {
      TakeAll();
      Fail();
    } else if (!receives_.empty()) {
      Deliver(trial_.input.Next());
    } else {
      Check(!trial_.server || !sends_.empty());  // else it would never hear again
      TakeAll();
    }
    return true;
  }

 private:
  static void CheckReply(const Transfer& transfer) {
    StoreReply head;
    Check(transfer.bytes >= sizeof head && transfer.bytes <= kMaxReplyBytes);
    std::memcpy(&head, transfer.data, sizeof head);
    Check(head.code == 0 || transfer.bytes > sizeof head);
  }
  void Deliver(const std::string& message) {
    Transfer& transfer = *receives_.front();
    receives_.erase(receives_.begin());
    transfer.received = message.size();
    const bool fits = message.size() <= transfer.bytes;
    if (fits) std::memcpy(transfer.data, message.data(), message.size());
    End(transfer, fits ? Status() : InvalidArgument("a message is longer than the room for it"));
  }
  void TakeAll() {
    for (Transfer* transfer : std::exchange(sends_, {})) End(*transfer, {});
  }
  void Fail() {
    status_ = DataLoss("the input has ended");
    for (auto* list : {&receives_, &sends_}) {
      for (Transfer* transfer : std::exchange(*list, {})) End(*transfer, status_.Clone());
    }
  }

  Trial& trial_;
  Status status_;
  std::vector<Transfer*> receives_, sends_;
};

class FuzzTransport final : public Transport {
 public:
  explicit FuzzTransport(Trial& trial) : trial_(trial) {}
  std::string_view name() const override { return "fuzz"; }
  const std::string& address() const override { return address_; }
  bool Reaches(std::string_view) const override { return true; }
  Result<std::unique_ptr<Endpoint>> Connect(std::string_view) override { return New(); }
  std::unique_ptr<Endpoint> Accept() override { return endpoint_ == nullptr ? New() : nullptr; }
  const Status& status() const override { return status_; }
  bool Progress() override { return endpoint_ != nullptr && !trial_.gone && endpoint_->Progress(); }
  bool Arm() override { return trial_.gone; }
  int wait_handle() const override { return wake_.handle(); }

 private:
  std::unique_ptr<FuzzEndpoint> New() {
    auto endpoint = std::make_unique<FuzzEndpoint>(trial_);
    endpoint_ = endpoint.get();
    trial_.gone = false;
    return endpoint;
  }

  Trial& trial_;
  const WakeEvent wake_ = std::move(WakeEvent::Create()).value();
  const std::string address_ = "fuzz:";
  const Status status_;
  FuzzEndpoint* endpoint_ = nullptr;  // the last one
};

void TryServer(Trial& trial) {
  auto server = std::move(ServeStore(std::make_unique<FuzzTransport>(trial), "fuzz:")).value();
  trial.gone.wait(false);
  const Status own = server->Set("own", "value", {});
  Check(own.ok() ? *server->Get("own", {}) == "value" : own.code() == Code::kResourceExhausted);
}

void TryClient(Trial& trial) {
  auto client = std::move(ConnectStore(std::make_unique<FuzzTransport>(trial), "fuzz:")).value();
  while (!trial.input.empty()) {
    client->Set("key", "value", {}).IgnoreError();
    if (auto held = client->TryGet("key", {}); held.ok() && held->has_value()) {
      Check((*held)->size() <= kMaxStoreValue);
    }
    client->Get("key", {}).status().IgnoreError();
    client->Add("key", 1, {}).status().IgnoreError();
    client->CompareAndSwap("key", "value", "desired", {}).status().IgnoreError();
    client->Delete("key", {}).IgnoreError();
  }
  const Status ended = client->Set("key", "value", {});
  Check(ended.code() == Code::kDataLoss && !ended.message().empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const bool server = (data[0] & 1) == 0;
  Trial trial = {.input = Input({reinterpret_cast<const std::byte*>(data) + 1, size - 1}),
                 .server = server,
                 .prompt = !server || (data[0] & 2) != 0};
  server ? TryServer(trial) : TryClient(trial);
  return 0;
}
