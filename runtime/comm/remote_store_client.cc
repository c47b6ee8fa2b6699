#include <algorithm>
#include <list>
#include <random>
#include <thread>

#include "runtime/base/file.h"
#include "runtime/comm/reactor.h"
#include "runtime/comm/remote_store.h"
#include "runtime/comm/store_messages.h"

namespace hr::comm {
namespace {

constexpr auto kFirstDialPause = std::chrono::milliseconds(5);
constexpr auto kLastDialPause = std::chrono::milliseconds(100);

// A request and its reply under way. It owns what the transport reads and writes, so a caller may
// leave it.
struct Exchange {
  std::string request;
  std::unique_ptr<std::byte[]> room;
  Transfer send, receive;
  Reactor* reactor = nullptr;
  std::atomic<bool> sent{false}, done{false};

  bool over() const { return sent && done; }
};

uint64_t RandomNumber() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

class RemoteStore final : public Store, public ReactorClient {
 public:
  RemoteStore(std::unique_ptr<Transport> transport, std::string address)
      : transport_(std::move(transport)), address_(std::move(address)) {}
  ~RemoteStore() override {
    if (reactor_ == nullptr) return;
    const Reactor::Guard guard(*reactor_);
    endpoint_.reset();
  }
  Status Prepare() {
    HR_ASSIGN_OR_RETURN(reactor_, Reactor::Create({transport_.get()}, *this));
    return {};
  }

  Status Set(std::string_view key, std::string_view value, const CallLimits& limits) override {
    HR_RETURN_IF_ERROR(CheckEntry(key, value));
    return Call({.op = StoreOp::kSet}, key, "", value, limits).status().Clone();
  }
  Result<std::optional<std::string>> TryGet(std::string_view key,
                                            const CallLimits& limits) override {
    HR_RETURN_IF_ERROR(CheckEntry(key, ""));
    HR_ASSIGN_OR_RETURN(Reply reply, Call({.op = StoreOp::kTryGet}, key, "", "", limits));
    if (reply.head.exists == 0) return std::optional<std::string>();
    return std::optional<std::string>(std::move(reply.text));
  }
  Result<std::string> Get(std::string_view key, const CallLimits& limits) override {
    HR_RETURN_IF_ERROR(CheckEntry(key, ""));
    Result<Reply> reply = Call({.op = StoreOp::kGet}, key, "", "", limits);
    if (reply.ok()) return std::move(reply->text);
    return std::move(reply).status().WithContext(Cat("waiting for key '", key, "'"));
  }
  Result<int64_t> Add(std::string_view key, int64_t delta, const CallLimits& limits) override {
    HR_RETURN_IF_ERROR(CheckEntry(key, ""));
    HR_ASSIGN_OR_RETURN(Reply reply,
                        Call({.op = StoreOp::kAdd, .delta = delta}, key, "", "", limits));
    return reply.head.sum;
  }
  Result<std::string> CompareAndSwap(std::string_view key, std::optional<std::string_view> expected,
                                     std::string_view desired, const CallLimits& limits) override {
    HR_RETURN_IF_ERROR(CheckEntry(key, desired));
    HR_RETURN_IF_ERROR(CheckEntry(key, expected.value_or("")));
    const StoreRequest request = {.op = StoreOp::kCompareAndSwap,
                                  .expected = expected.has_value() ? uint64_t{1} : 0};
    HR_ASSIGN_OR_RETURN(Reply reply, Call(request, key, expected.value_or(""), desired, limits));
    return std::move(reply.text);
  }
  Status Delete(std::string_view key, const CallLimits& limits) override {
    HR_RETURN_IF_ERROR(CheckEntry(key, ""));
    return Call({.op = StoreOp::kDelete}, key, "", "", limits).status().Clone();
  }
  std::string Describe() const override { return Cat("store at ", address_); }
  std::string Url() const override { return address_; }

 private:
  struct Reply {
    StoreReply head;
    std::string text;
  };

  bool Advance(bool) override { return false; }
  void Deliver() override {}
  int64_t OnTimer(int64_t) override { return INT64_MAX; }

  Result<Reply> Call(StoreRequest head, std::string_view key, std::string_view expected,
                     std::string_view value, const CallLimits& limits);
  std::unique_ptr<Exchange> Begin(std::string request, uint64_t number);
  Status Connect();
  static Result<Reply> Decode(const Exchange& exchange);
  void Leave(std::unique_ptr<Exchange> exchange, const StoreRequest& head);
  Status Unreachable(const Status& why) const {
    return Unavailable("the store at ", address_, " cannot be reached: ", why.message());
  }

  const std::unique_ptr<Transport> transport_;
  const std::string address_;
  const uint64_t client_ = RandomNumber();
  std::unique_ptr<Reactor> reactor_;

  // With the reactor locked.
  std::unique_ptr<Endpoint> endpoint_;
  uint64_t next_number_ = 1;
  std::list<std::unique_ptr<Exchange>> left_;  // by callers whose limits ended
};

Status RemoteStore::Connect() {
  if (endpoint_ != nullptr && endpoint_->status().ok()) return {};
  if (endpoint_ != nullptr && endpoint_->peer_left()) return endpoint_->status().Clone();
  endpoint_.reset();
  HR_ASSIGN_OR_RETURN(endpoint_, transport_->Connect(address_));
  return {};
}

// With the reactor locked and the endpoint there.
std::unique_ptr<Exchange> RemoteStore::Begin(std::string request, uint64_t number) {
  auto exchange = std::make_unique<Exchange>();
  exchange->request = std::move(request);
  exchange->room = std::make_unique_for_overwrite<std::byte[]>(kMaxReplyBytes);
  exchange->reactor = reactor_.get();
  exchange->send.data = reinterpret_cast<std::byte*>(exchange->request.data());
  exchange->send.bytes = exchange->request.size();
  exchange->send.tag = kRequestTag;
  exchange->receive.data = exchange->room.get();
  exchange->receive.bytes = kMaxReplyBytes;
  exchange->receive.tag = number;
  exchange->send.owner = exchange->receive.owner = exchange.get();
  exchange->send.done = [](Transfer& t) { static_cast<Exchange*>(t.owner)->sent = true; };
  exchange->receive.done = [](Transfer& t) {
    auto& self = *static_cast<Exchange*>(t.owner);
    Reactor& reactor = *self.reactor;
    self.done.store(true, std::memory_order_release);
    reactor.NoteCompletion();
  };
  endpoint_->Recv(exchange->receive);
  endpoint_->Send(exchange->send);
  return exchange;
}

// A Get that nobody waits for any more is answered, so that the server can forget it.
void RemoteStore::Leave(std::unique_ptr<Exchange> exchange, const StoreRequest& head) {
  const Reactor::Guard guard(*reactor_);
  left_.push_back(std::move(exchange));
  if (head.op != StoreOp::kGet || endpoint_ == nullptr || !endpoint_->status().ok()) return;
  const StoreRequest forget = {.op = StoreOp::kForget,
                               .number = next_number_++,
                               .client = client_,
                               .delta = static_cast<int64_t>(head.number)};
  left_.push_back(Begin(StoreCall::Encode(forget, "", "", ""), forget.number));
}

Result<RemoteStore::Reply> RemoteStore::Decode(const Exchange& exchange) {
  const std::string_view text = AsText({exchange.room.get(), exchange.receive.received});
  Reply reply;
  if (text.size() < sizeof reply.head) return DataLoss("the store's server sent half a reply");
  std::memcpy(&reply.head, text.data(), sizeof reply.head);
  reply.text = text.substr(sizeof reply.head);
  if (reply.head.code == 0) return reply;
  if (reply.head.code > static_cast<uint32_t>(Code::kDeviceLost)) {
    return DataLoss("the store's server sent an unknown code");
  }
  return Status(static_cast<Code>(reply.head.code), std::move(reply.text));
}

Result<RemoteStore::Reply> RemoteStore::Call(StoreRequest head, std::string_view key,
                                             std::string_view expected, std::string_view value,
                                             const CallLimits& limits) {
  head.client = client_;
  for (auto pause = kFirstDialPause;; pause = std::min(2 * pause, kLastDialPause)) {
    std::unique_ptr<Exchange> exchange;
    Status trouble;
    bool final = false;
    {
      const Reactor::Guard guard(*reactor_);
      left_.remove_if([](const auto& one) { return one->over(); });
      if (head.number == 0) head.number = next_number_++;
      trouble = Connect();
      final = endpoint_ != nullptr && endpoint_->peer_left();
      if (trouble.ok()) {
        exchange = Begin(StoreCall::Encode(head, key, expected, value), head.number);
      }
    }
    if (exchange != nullptr) {
      if (Status ended = reactor_->Wait(exchange->done, limits); !ended.ok()) {
        Leave(std::move(exchange), head);
        return ended;
      }
      trouble = std::move(exchange->receive.status);
      const Reactor::Guard guard(*reactor_);
      if (trouble.ok()) {
        // Only a server that does not keep to the protocol replies before it has the request.
        if (!exchange->over()) endpoint_->Cancel(exchange->send);
        return Decode(*exchange);
      }
      // The endpoint has failed: both transfers are over.
      final = endpoint_ != nullptr && endpoint_->peer_left();
    }
    if (trouble.code() != Code::kUnavailable) {
      return std::move(trouble).WithContext(Cat("the store at ", address_));
    }
    if (final) return Unreachable(trouble);
    head.again = 1;
    if (Status ended = limits.Check(); !ended.ok()) {
      return ended.code() == Code::kCancelled ? std::move(ended) : Unreachable(trouble);
    }
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace

Result<std::unique_ptr<Store>> ConnectStore(std::unique_ptr<Transport> transport,
                                            std::string address) {
  auto store = std::make_unique<RemoteStore>(std::move(transport), std::move(address));
  HR_RETURN_IF_ERROR(store->Prepare());
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace hr::comm
