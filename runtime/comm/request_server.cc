#include "runtime/comm/request_server.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <map>
#include <thread>

#include "runtime/base/strings.h"
#include "runtime/base/worker_threads.h"

namespace hr::comm {
namespace {

constexpr auto kServerPause = std::chrono::milliseconds(1);
// For goodbyes that clients do not take.
constexpr int64_t kServerGoodbyeNanos = 1'000'000'000;

}  // namespace

class RequestServer::Core final : public ReactorClient {
 public:
  Core(Handler handler, const RequestServerOptions& options)
      : handler_(std::move(handler)),
        options_(options),
        threads_(std::make_unique<WorkerThreads>(options.threads)) {}
  ~Core() override { Stop(); }

  Status Start(const std::vector<TransportFactory>& transports, Poller& poller);
  std::vector<std::string> addresses() const;
  size_t clients() const;
  size_t in_flight() const;
  std::string last_trouble() const;

 private:
  struct Client;
  // A request that has no answer yet.
  struct Running {
    std::shared_ptr<Client> client;
    RequestMessage message;
    bool begun = false;  // the message is there, and a thread will answer it
    CancelToken cancel;
    CallLimits limits;
  };
  struct Client {
    Client(std::unique_ptr<Endpoint> endpoint, const RequestServerOptions& options)
        : name(endpoint->peer_identity()),
          link(std::make_unique<RequestLink>(std::move(endpoint), *options.allocator,
                                             options.max_bytes)) {}
    std::string name;
    std::unique_ptr<RequestLink> link;  // null once it has gone
    std::map<uint64_t, std::shared_ptr<Running>> running;
  };

  bool Advance(bool moved) override;
  void Deliver() override;
  int64_t OnTimer(int64_t) override { return INT64_MAX; }

  void TakeNewClients();
  void TurnAway(std::unique_ptr<Endpoint> endpoint, std::string why);
  void Hear(const std::shared_ptr<Client>& client);
  Status Admit(const std::shared_ptr<Client>& client, const RequestHead& head);
  void Begin(Client& client, RequestMessage message);
  void Cancel(const std::shared_ptr<Running>& running);
  void Lose(Client& client, const Status& why);
  void Handle(const std::shared_ptr<Running>& running);
  void Answer(const Running& running, Result<Block> answer);
  void CancelAll();
  void Stop();

  const Handler handler_;
  const RequestServerOptions options_;
  std::vector<std::unique_ptr<Transport>> transports_;

  // Guarded by the reactor.
  std::list<std::shared_ptr<Client>> clients_;
  std::list<std::unique_ptr<Endpoint>> leaving_;             // until their goodbye is written
  std::vector<std::shared_ptr<Running>> begun_, cancelled_;  // for Deliver
  size_t in_flight_ = 0;
  std::string last_trouble_;
  std::atomic<bool> due_{false};

  std::unique_ptr<WorkerThreads> threads_;
  std::unique_ptr<Reactor> reactor_;
};

Status RequestServer::Core::Start(const std::vector<TransportFactory>& transports, Poller& poller) {
  std::vector<Transport*> all;
  for (const TransportFactory& create : transports) {
    HR_ASSIGN_OR_RETURN(auto transport, create(std::string(kRequestServer)));
    all.push_back(transport.get());
    transports_.push_back(std::move(transport));
  }
  HR_ASSIGN_OR_RETURN(reactor_, Reactor::Create(std::move(all), *this));
  poller.Add(*reactor_);
  return {};
}

std::vector<std::string> RequestServer::Core::addresses() const {
  std::vector<std::string> out;
  for (const auto& transport : transports_) out.push_back(transport->address());
  return out;
}

size_t RequestServer::Core::clients() const {
  Reactor::Guard guard(*reactor_);
  return clients_.size();
}

size_t RequestServer::Core::in_flight() const {
  Reactor::Guard guard(*reactor_);
  return in_flight_;
}

std::string RequestServer::Core::last_trouble() const {
  Reactor::Guard guard(*reactor_);
  return last_trouble_;
}

bool RequestServer::Core::Advance(bool moved) {
  if (!moved) return false;
  TakeNewClients();
  for (const auto& client : clients_) Hear(client);
  clients_.remove_if([](const auto& client) { return client->link == nullptr; });
  leaving_.remove_if([](const auto& endpoint) { return endpoint->flushed(); });
  return false;
}

void RequestServer::Core::TakeNewClients() {
  for (const auto& transport : transports_) {
    while (auto endpoint = transport->Accept()) {
      const std::string_view identity = endpoint->peer_identity();
      if (!identity.starts_with(kRequestClient)) {
        std::string why = Cat("expected '", kRequestClient, "', got '", identity, "'");
        TurnAway(std::move(endpoint), std::move(why));
      } else if (clients_.size() >= options_.max_clients) {
        TurnAway(std::move(endpoint), Cat("there are ", clients_.size(), " clients already"));
      } else {
        clients_.push_back(std::make_shared<Client>(std::move(endpoint), options_));
      }
    }
  }
}

void RequestServer::Core::TurnAway(std::unique_ptr<Endpoint> endpoint, std::string why) {
  endpoint->Close(why);
  last_trouble_ = std::move(why);
  leaving_.push_back(std::move(endpoint));
}

void RequestServer::Core::Hear(const std::shared_ptr<Client>& client) {
  RequestLink& link = *client->link;
  const auto admit = [&](const RequestHead& head) { return Admit(client, head); };
  while (std::optional<RequestMessage> message = link.Next(admit)) {
    if (message->head.kind == RequestHead::Kind::kRequest) Begin(*client, *std::move(message));
  }
  if (const Status status = link.status(); !status.ok()) Lose(*client, status);
}

// Before memory is taken for its body.
Status RequestServer::Core::Admit(const std::shared_ptr<Client>& client, const RequestHead& head) {
  const auto known = client->running.find(head.id);
  if (head.kind == RequestHead::Kind::kCancel) {
    if (known != client->running.end()) Cancel(known->second);
    return {};  // else it has crossed the answer
  }
  if (head.kind != RequestHead::Kind::kRequest || known != client->running.end()) {
    return DataLoss("expected a new request, got number ", head.id, " again or an answer");
  }
  if (client->running.size() >= options_.max_in_flight) {
    return ResourceExhausted("expected at most ", options_.max_in_flight,
                             " requests without an answer from one client");
  }
  auto running = std::make_shared<Running>();
  running->client = client;
  running->limits = {.cancel = &running->cancel};
  if (head.timeout_nanos > 0) {
    running->limits.clock = &SystemClock();
    const int64_t now = SystemClock().NowNanos();
    running->limits.deadline_nanos = now + std::min(head.timeout_nanos, INT64_MAX - now);
  }
  client->running.emplace(head.id, std::move(running));
  ++in_flight_;
  reactor_->BeginUnattended();
  return {};
}

void RequestServer::Core::Begin(Client& client, RequestMessage message) {
  const auto& running = client.running.at(message.head.id);
  running->message = std::move(message);
  running->begun = true;
  begun_.push_back(running);
  due_ = true;
}

// Who waits for the token is woken outside of the reactor's lock.
void RequestServer::Core::Cancel(const std::shared_ptr<Running>& running) {
  cancelled_.push_back(running);
  due_ = true;
}

void RequestServer::Core::Lose(Client& client, const Status& why) {
  last_trouble_ = Cat(client.name, ": ", why.message());
  if (client.link->broken()) leaving_.push_back(client.link->Release());
  client.link.reset();
  for (auto it = client.running.begin(); it != client.running.end();) {
    Cancel(it->second);
    if (it->second->begun) {
      ++it;
      continue;
    }
    // Its body has not come, so nobody will answer it.
    it = client.running.erase(it);
    --in_flight_;
    reactor_->EndUnattended();
  }
}

void RequestServer::Core::Deliver() {
  if (!due_.exchange(false)) return;
  std::vector<std::shared_ptr<Running>> begun, cancelled;
  {
    Reactor::Guard guard(*reactor_);
    begun.swap(begun_);
    cancelled.swap(cancelled_);
  }
  for (const auto& running : cancelled) running->cancel.Cancel();
  for (auto& running : begun) threads_->Add([this, running] { Handle(running); });
}

void RequestServer::Core::Handle(const std::shared_ptr<Running>& running) {
  Status useless = running->limits.Check();
  if (!useless.ok()) return Answer(*running, std::move(useless));
  Answer(*running, handler_({.method = running->message.head.code,
                             .body = running->message.bytes(),
                             .limits = running->limits,
                             .client = running->client->name}));
}

void RequestServer::Core::Answer(const Running& running, Result<Block> answer) {
  if (answer.ok() && answer->bytes() > options_.max_bytes) {
    answer = ResourceExhausted("the answer has ", answer->bytes(), " bytes, where at most ",
                               options_.max_bytes, " are sent");
  }
  RequestHead head = {.kind = RequestHead::Kind::kAnswer, .id = running.message.head.id};
  Block body;
  if (answer.ok()) {
    body = std::move(answer).value();
  } else {
    const std::string_view sentence = answer.status().message();
    head.code = static_cast<int32_t>(answer.status().code());
    if (auto text = Block::Create(SystemAllocator(), sentence.size()); text.ok()) {
      std::copy(sentence.begin(), sentence.end(), static_cast<char*>(text->data()));
      body = std::move(text).value();
    }
  }
  head.bytes = body.bytes();
  Reactor::Guard guard(*reactor_);
  Client& client = *running.client;
  --in_flight_;
  reactor_->EndUnattended();
  if (client.link != nullptr) client.link->Send(head, std::move(body));
  client.running.erase(head.id);
}

void RequestServer::Core::CancelAll() {
  {
    Reactor::Guard guard(*reactor_);
    for (const auto& client : clients_) {
      for (const auto& [id, running] : client->running) Cancel(running);
    }
  }
  Deliver();
}

void RequestServer::Core::Stop() {
  if (reactor_ == nullptr) return;
  CancelAll();
  reactor_->LeavePoller();  // from here on nobody else drives
  CancelAll();              // what came meanwhile
  threads_.reset();
  const int64_t give_up = SystemClock().NowNanos() + kServerGoodbyeNanos;
  {
    Reactor::Guard guard(*reactor_);
    for (const auto& client : clients_) {
      if (client->link != nullptr) client->link->Close("the server has stopped");
    }
  }
  const auto flushed = [this] {
    Reactor::Guard guard(*reactor_);
    return std::all_of(clients_.begin(), clients_.end(), [](const auto& client) {
      return client->link == nullptr || client->link->endpoint().flushed();
    });
  };
  while (!flushed() && SystemClock().NowNanos() < give_up) {
    if (!reactor_->Turn()) std::this_thread::sleep_for(kServerPause);
  }
  reactor_.reset();
  clients_.clear();
  leaving_.clear();
}

RequestServer::RequestServer(std::unique_ptr<Core> core) : core_(std::move(core)) {}
RequestServer::~RequestServer() = default;

Result<std::unique_ptr<RequestServer>> RequestServer::Create(
    const std::vector<TransportFactory>& transports, Poller& poller, Handler handler,
    RequestServerOptions options) {
  auto core = std::make_unique<Core>(std::move(handler), options);
  HR_RETURN_IF_ERROR(core->Start(transports, poller));
  return std::unique_ptr<RequestServer>(new RequestServer(std::move(core)));
}

std::vector<std::string> RequestServer::addresses() const { return core_->addresses(); }
size_t RequestServer::clients() const { return core_->clients(); }
size_t RequestServer::in_flight() const { return core_->in_flight(); }
std::string RequestServer::last_trouble() const { return core_->last_trouble(); }

}  // namespace hr::comm
