#include <algorithm>
#include <deque>
#include <list>
#include <thread>

#include "runtime/base/file.h"
#include "runtime/base/wake_event.h"
#include "runtime/comm/remote_store.h"
#include "runtime/comm/store_messages.h"

namespace hr::comm {
namespace {

constexpr size_t kMaxTotalBytes = 256 << 20;  // of all keys and values
constexpr size_t kMaxReplies = 64;            // to one client; it is not heard until it takes them
constexpr size_t kMaxWaits = 4096;            // of one client
constexpr size_t kRememberedAdds = 1 << 16;
constexpr size_t kUsualRequest = 64 << 10;
constexpr int64_t kStrangersNanos = 1'000'000'000;  // strangers must be looked at
constexpr int64_t kClientsGoodbyeNanos = 1'000'000'000;

struct OutgoingReply {
  std::string text;
  Transfer transfer;
  bool sent = false;
};

struct Client {
  std::unique_ptr<Endpoint> endpoint;
  Transfer request;
  std::unique_ptr<std::byte[]> room;
  bool listens = false;  // the request's receive is posted
  bool heard = false;    // and has ended
  std::list<OutgoingReply> replies;
  struct PendingGet {
    uint64_t number;
    std::string key;
  };
  std::list<PendingGet> waits;
};

class StoreServer final : public Store {
 public:
  StoreServer(std::unique_ptr<Transport> transport, std::string url, WakeEvent wake)
      : transport_(std::move(transport)), url_(std::move(url)), wake_(std::move(wake)) {
    thread_ = std::thread([this] { Run(); });
  }
  ~StoreServer() override {
    stop_ = true;
    wake_.Set();
    thread_.join();
  }

  bool kept_here() const override { return true; }
  Status Set(std::string_view key, std::string_view value, const CallLimits& limits) override {
    const Changing changing(*this);
    return values_->Set(key, value, limits);
  }
  Result<std::optional<std::string>> TryGet(std::string_view key,
                                            const CallLimits& limits) override {
    return values_->TryGet(key, limits);
  }
  Result<std::string> Get(std::string_view key, const CallLimits& limits) override {
    return values_->Get(key, limits);
  }
  Result<int64_t> Add(std::string_view key, int64_t delta, const CallLimits& limits) override {
    const Changing changing(*this);
    return values_->Add(key, delta, limits);
  }
  Result<std::string> CompareAndSwap(std::string_view key, std::optional<std::string_view> expected,
                                     std::string_view desired, const CallLimits& limits) override {
    const Changing changing(*this);
    return values_->CompareAndSwap(key, expected, desired, limits);
  }
  Status Delete(std::string_view key, const CallLimits& limits) override {
    return values_->Delete(key, limits);
  }
  std::string Describe() const override { return Cat("store that this process keeps at ", url_); }
  std::string Url() const override { return url_; }

 private:
  // Wakes the server's thread after a change of the process itself.
  struct Changing {
    explicit Changing(StoreServer& server) : server(server) {}
    ~Changing() {
      server.changed_ = true;
      server.wake_.Set();
    }
    StoreServer& server;
  };

  void Run();
  void Goodbye();
  bool Turn();
  void Listen(Client& client);
  void OnRequest(Client& client);
  void Answer(Client& client, const StoreCall& call);
  Result<StoreReply> Carry(const StoreCall& call, std::string& text);
  Result<int64_t> AddOnce(const StoreCall& call);
  void Wait(Client& client, const StoreCall& call);
  void Forget(Client& client, uint64_t number);
  void Reply(Client& client, uint64_t number, Result<StoreReply> reply, std::string_view text);
  bool AnswerWaits();

  const std::unique_ptr<Transport> transport_;
  const std::string url_;
  const std::unique_ptr<Store> values_ = CreateMemoryStore(kMaxTotalBytes);
  const WakeEvent wake_;
  std::atomic<bool> stop_{false}, changed_{false};

  // The thread's own.
  std::list<Client> clients_;
  struct Added {
    uint64_t client, number;
    int64_t sum;
  };
  std::deque<Added> added_;  // the last ones

  std::thread thread_;  // last
};

void StoreServer::Run() {
  const int handles[] = {wake_.handle(), transport_->wait_handle()};
  while (!stop_) {
    if (Turn()) continue;
    if (transport_->Arm()) WaitReadable(handles, kStrangersNanos);
    wake_.Clear();
  }
  Goodbye();
}

void StoreServer::Goodbye() {
  for (Client& client : clients_) client.endpoint->Close("the process that kept it has ended");
  const int64_t give_up = SystemClock().NowNanos() + kClientsGoodbyeNanos;
  auto flushed = [](const Client& client) { return client.endpoint->flushed(); };
  while (!std::all_of(clients_.begin(), clients_.end(), flushed) &&
         SystemClock().NowNanos() < give_up) {
    transport_->Progress();
  }
  clients_.clear();
}

bool StoreServer::Turn() {
  bool moved = transport_->Progress();
  while (std::unique_ptr<Endpoint> endpoint = transport_->Accept()) {
    clients_.emplace_back().endpoint = std::move(endpoint);
    Listen(clients_.back());
    moved = true;
  }
  for (Client& client : clients_) {
    if (client.replies.remove_if([](const OutgoingReply& reply) { return reply.sent; }) > 0) {
      changed_ = true;  // there is room for answers to its waits
    }
    if (std::exchange(client.heard, false)) {
      moved = true;
      client.listens = false;
      if (client.request.status.ok()) OnRequest(client);
    }
    Listen(client);
  }
  moved |=
      clients_.remove_if([](const Client& client) { return !client.endpoint->status().ok(); }) > 0;
  return AnswerWaits() || moved;
}

void StoreServer::Listen(Client& client) {
  if (client.listens || client.replies.size() >= kMaxReplies || !client.endpoint->status().ok()) {
    return;
  }
  // Pages that a large request has touched are given back.
  if (client.room == nullptr || client.request.received > kUsualRequest) {
    client.room = std::make_unique_for_overwrite<std::byte[]>(StoreCall::kMaxBytes);
  }
  client.request = {};
  client.request.data = client.room.get();
  client.request.bytes = StoreCall::kMaxBytes;
  client.request.tag = kRequestTag;
  client.request.owner = &client;
  client.request.done = [](Transfer& t) { static_cast<Client*>(t.owner)->heard = true; };
  client.listens = true;
  client.endpoint->Recv(client.request);
}

void StoreServer::OnRequest(Client& client) {
  Result<StoreCall> call = StoreCall::Decode(AsText({client.room.get(), client.request.received}));
  if (!call.ok()) return client.endpoint->Close(call.status().message());
  Answer(client, *call);
}

void StoreServer::Answer(Client& client, const StoreCall& call) {
  if (call.head.op == StoreOp::kGet) return Wait(client, call);
  if (call.head.op == StoreOp::kForget) {
    Forget(client, static_cast<uint64_t>(call.head.delta));
    return Reply(client, call.head.number, StoreReply{}, "");
  }
  std::string text;
  Result<StoreReply> reply = Carry(call, text);
  Reply(client, call.head.number, std::move(reply), text);
}

Result<StoreReply> StoreServer::Carry(const StoreCall& call, std::string& text) {
  StoreReply reply;
  switch (call.head.op) {
    case StoreOp::kSet:
      changed_ = true;
      HR_RETURN_IF_ERROR(values_->Set(call.key, call.value, {}));
      return reply;
    case StoreOp::kTryGet: {
      HR_ASSIGN_OR_RETURN(std::optional<std::string> held, values_->TryGet(call.key, {}));
      reply.exists = held.has_value() ? 1 : 0;
      text = std::move(held).value_or("");
      return reply;
    }
    case StoreOp::kAdd: {
      changed_ = true;
      HR_ASSIGN_OR_RETURN(reply.sum, AddOnce(call));
      return reply;
    }
    case StoreOp::kCompareAndSwap: {
      changed_ = true;
      const std::optional<std::string_view> expected =
          call.head.expected != 0 ? std::optional(call.expected) : std::nullopt;
      HR_ASSIGN_OR_RETURN(text, values_->CompareAndSwap(call.key, expected, call.value, {}));
      reply.exists = 1;
      return reply;
    }
    case StoreOp::kDelete: HR_RETURN_IF_ERROR(values_->Delete(call.key, {})); return reply;
    default: return Unimplemented("the store's server does not know this call");
  }
}

// If the reply was lost the client asks again. (The other calls may simply be carried out
// twice.)
Result<int64_t> StoreServer::AddOnce(const StoreCall& call) {
  const auto is_same = [&](const Added& one) {
    return one.client == call.head.client && one.number == call.head.number;
  };
  if (call.head.again != 0) {
    const auto found = std::find_if(added_.rbegin(), added_.rend(), is_same);
    if (found != added_.rend()) return found->sum;
  }
  HR_ASSIGN_OR_RETURN(const int64_t sum, values_->Add(call.key, call.head.delta, {}));
  added_.push_back({call.head.client, call.head.number, sum});
  if (added_.size() > kRememberedAdds) added_.pop_front();
  return sum;
}

void StoreServer::Wait(Client& client, const StoreCall& call) {
  if (client.waits.size() >= kMaxWaits) {
    return Reply(client, call.head.number,
                 ResourceExhausted("a store's client waits for more than ", kMaxWaits, " keys"),
                 "");
  }
  client.waits.push_back({call.head.number, std::string(call.key)});
  changed_ = true;  // the key may be there
}

void StoreServer::Forget(Client& client, uint64_t number) {
  const auto found =
      std::find_if(client.waits.begin(), client.waits.end(),
                   [&](const Client::PendingGet& wait) { return wait.number == number; });
  if (found == client.waits.end()) return;
  client.waits.erase(found);
  Reply(client, number, Cancelled("the call was cancelled"), "");
}

bool StoreServer::AnswerWaits() {
  if (!changed_.exchange(false)) return false;
  for (Client& client : clients_) {
    for (auto wait = client.waits.begin();
         wait != client.waits.end() && client.replies.size() < kMaxReplies;) {
      Result<std::optional<std::string>> held = values_->TryGet(wait->key, {});
      if (held.ok() && !held->has_value()) {
        ++wait;
        continue;
      }
      Result<StoreReply> reply = held.ok() ? Result<StoreReply>(StoreReply{.exists = 1})
                                           : Result<StoreReply>(held.status().Clone());
      Reply(client, wait->number, std::move(reply), held.ok() ? **held : std::string());
      wait = client.waits.erase(wait);
    }
  }
  return true;
}

void StoreServer::Reply(Client& client, uint64_t number, Result<StoreReply> reply,
                        std::string_view text) {
  StoreReply head;
  if (reply.ok()) {
    head = *reply;
  } else {
    head.code = static_cast<uint32_t>(reply.status().code());
    text = reply.status().message();
  }
  OutgoingReply& outgoing = client.replies.emplace_back();
  outgoing.text.assign(reinterpret_cast<const char*>(&head), sizeof head).append(text);
  outgoing.transfer.data = reinterpret_cast<std::byte*>(outgoing.text.data());
  outgoing.transfer.bytes = outgoing.text.size();
  outgoing.transfer.tag = number;
  outgoing.transfer.owner = &outgoing;
  outgoing.transfer.done = [](Transfer& t) { static_cast<OutgoingReply*>(t.owner)->sent = true; };
  client.endpoint->Send(outgoing.transfer);
}

}  // namespace

Result<std::unique_ptr<Store>> ServeStore(std::unique_ptr<Transport> transport, std::string url) {
  HR_ASSIGN_OR_RETURN(WakeEvent wake, WakeEvent::Create());
  return std::make_unique<StoreServer>(std::move(transport), std::move(url), std::move(wake));
}

}  // namespace hr::comm
