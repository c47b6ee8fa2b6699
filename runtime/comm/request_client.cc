#include "runtime/comm/request_client.h"

#include <algorithm>
#include <map>
#include <thread>

#include "runtime/base/strings.h"

namespace hr::comm {
namespace {

constexpr auto kClientPause = std::chrono::milliseconds(1);
constexpr int64_t kClientGoodbyeNanos = 200'000'000;

}  // namespace

class RequestClient::Core final : public ReactorClient {
 public:
  explicit Core(RequestClientOptions options) : options_(std::move(options)) {}
  ~Core() override { Close(); }

  Status Connect(const TransportFactory& create, std::string_view address, Poller& poller,
                 const CallLimits& limits);
  Result<std::shared_ptr<PendingAnswer>> Start(int32_t method, Block body, int64_t timeout_nanos);
  Status Wait(const PendingAnswer& answer, const CallLimits& limits);
  void End(PendingAnswer& answer, Status status);
  Status status() const;

 private:
  bool Advance(bool moved) override;
  void Deliver() override {}
  int64_t OnTimer(int64_t now) override;

  Status Admit(const RequestHead& head) const;
  void Take(RequestMessage message);
  void EndLocked(PendingAnswer& answer, Status status);
  void Finish(PendingAnswer& answer, Status status);
  void Lose(Status why);
  void Close();

  const RequestClientOptions options_;
  std::unique_ptr<Transport> transport_;
  std::atomic<bool> connected_{false};  // or not to be connected

  // Guarded by the reactor.
  std::unique_ptr<RequestLink> link_;
  // Those that have no answer from the server yet, by id; some are done.
  std::map<uint64_t, std::shared_ptr<PendingAnswer>> in_flight_;
  uint64_t last_id_ = 0;
  Status status_;
  int64_t timer_at_ = INT64_MAX;

  std::unique_ptr<Reactor> reactor_;
};

Status RequestClient::Core::Connect(const TransportFactory& create, std::string_view address,
                                    Poller& poller, const CallLimits& limits) {
  HR_ASSIGN_OR_RETURN(transport_, create(Cat(kRequestClient, " ", options_.name)));
  HR_ASSIGN_OR_RETURN(auto endpoint, transport_->Connect(address));
  link_ =
      std::make_unique<RequestLink>(std::move(endpoint), *options_.allocator, options_.max_bytes);
  HR_ASSIGN_OR_RETURN(reactor_, Reactor::Create({transport_.get()}, *this));
  poller.Add(*reactor_);
  HR_RETURN_IF_ERROR(reactor_->Wait(connected_, limits));
  Reactor::Guard guard(*reactor_);
  if (!status_.ok()) return status_.Clone();
  const std::string_view peer = link_->endpoint().peer_identity();
  if (peer.starts_with(kRequestServer)) return {};
  return FailedPrecondition("expected '", kRequestServer, "' at ", address, ", found '", peer, "'");
}

Status RequestClient::Core::status() const {
  Reactor::Guard guard(*reactor_);
  return status_.Clone();
}

bool RequestClient::Core::Advance(bool moved) {
  if (!moved || !status_.ok()) return false;
  const auto admit = [this](const RequestHead& head) { return Admit(head); };
  while (std::optional<RequestMessage> message = link_->Next(admit)) Take(*std::move(message));
  if (Status status = link_->status(); !status.ok()) {
    Lose(connected_ ? Unavailable("the server has gone: ", status.message()) : std::move(status));
  } else if (!connected_ && link_->endpoint().established()) {
    connected_ = true;
    reactor_->NoteCompletionLocked();
  }
  return false;
}

Status RequestClient::Core::Admit(const RequestHead& head) const {
  if (head.kind == RequestHead::Kind::kAnswer && in_flight_.contains(head.id)) return {};
  return DataLoss("expected the answer to a request in flight");
}

void RequestClient::Core::Take(RequestMessage message) {
  const auto found = in_flight_.find(message.head.id);
  if (found == in_flight_.end()) return;  // a second answer to it
  const std::shared_ptr<PendingAnswer> answer = std::move(found->second);
  in_flight_.erase(found);
  reactor_->EndUnattended();
  if (answer->done()) return;
  Status status;
  if (message.head.code != 0) {
    status = Status(static_cast<Code>(message.head.code), std::string(AsText(message.bytes())));
  } else {
    answer->message_ = std::move(message);
  }
  Finish(*answer, std::move(status));
}

void RequestClient::Core::Finish(PendingAnswer& answer, Status status) {
  answer.status_ = std::move(status);
  answer.done_.store(true, std::memory_order_release);
  reactor_->NoteCompletionLocked();
}

void RequestClient::Core::Lose(Status why) {
  status_ = std::move(why);
  connected_ = true;
  for (const auto& [id, answer] : in_flight_) {
    reactor_->EndUnattended();
    if (!answer->done()) Finish(*answer, status_.Clone());
  }
  in_flight_.clear();
  reactor_->NoteCompletionLocked();
}

Result<std::shared_ptr<PendingAnswer>> RequestClient::Core::Start(int32_t method, Block body,
                                                                  int64_t timeout_nanos) {
  auto answer = std::make_shared<PendingAnswer>();
  Reactor::Guard guard(*reactor_);
  if (!status_.ok()) return status_.Clone();
  if (in_flight_.size() >= options_.max_in_flight) {
    return ResourceExhausted(in_flight_.size(),
                             " requests are in flight, as many as there may be; "
                             "wait for one of them");
  }
  answer->id_ = ++last_id_;
  if (timeout_nanos > 0) {
    const int64_t now = SystemClock().NowNanos();
    answer->deadline_nanos_ = now + std::min(timeout_nanos, INT64_MAX - now);
    if (answer->deadline_nanos_ < timer_at_) reactor_->CallTimer();
  }
  in_flight_.emplace(answer->id_, answer);
  reactor_->BeginUnattended();
  const RequestHead head = {.kind = RequestHead::Kind::kRequest,
                            .code = method,
                            .id = answer->id_,
                            .bytes = body.bytes(),
                            .timeout_nanos = std::max<int64_t>(timeout_nanos, 0)};
  link_->Send(head, std::move(body));
  return answer;
}

Status RequestClient::Core::Wait(const PendingAnswer& answer, const CallLimits& limits) {
  HR_RETURN_IF_ERROR(reactor_->Wait(answer.done_, limits));
  return answer.status().Clone();
}

void RequestClient::Core::End(PendingAnswer& answer, Status status) {
  Reactor::Guard guard(*reactor_);
  EndLocked(answer, std::move(status));
}

void RequestClient::Core::EndLocked(PendingAnswer& answer, Status status) {
  if (answer.done()) return;
  link_->Send({.kind = RequestHead::Kind::kCancel, .id = answer.id_}, {});
  Finish(answer, std::move(status));
}

int64_t RequestClient::Core::OnTimer(int64_t now) {
  Reactor::Guard guard(*reactor_);
  timer_at_ = INT64_MAX;
  for (const auto& [id, answer] : in_flight_) {
    if (answer->done()) continue;
    if (now >= answer->deadline_nanos_) {
      EndLocked(*answer, DeadlineExceeded("the server did not answer in time"));
    } else {
      timer_at_ = std::min(timer_at_, answer->deadline_nanos_);
    }
  }
  return timer_at_;
}

void RequestClient::Core::Close() {
  if (reactor_ == nullptr) return;
  reactor_->LeavePoller();
  {
    Reactor::Guard guard(*reactor_);
    if (status_.ok()) Lose(Cancelled("the client was closed"));
    link_->Close("the client has left");
  }
  const int64_t give_up = SystemClock().NowNanos() + kClientGoodbyeNanos;
  const auto flushed = [this] {
    Reactor::Guard guard(*reactor_);
    return link_->endpoint().flushed();
  };
  while (!flushed() && SystemClock().NowNanos() < give_up) {
    if (!reactor_->Turn()) std::this_thread::sleep_for(kClientPause);
  }
  reactor_.reset();
  link_.reset();
}

RequestClient::RequestClient(std::unique_ptr<Core> core) : core_(std::move(core)) {}
RequestClient::~RequestClient() = default;

Result<std::unique_ptr<RequestClient>> RequestClient::Connect(const TransportFactory& transport,
                                                              std::string_view address,
                                                              Poller& poller,
                                                              RequestClientOptions options,
                                                              const CallLimits& limits) {
  auto core = std::make_unique<Core>(std::move(options));
  HR_RETURN_IF_ERROR(core->Connect(transport, address, poller, limits));
  return std::unique_ptr<RequestClient>(new RequestClient(std::move(core)));
}

Result<std::shared_ptr<PendingAnswer>> RequestClient::Start(int32_t method, Block body,
                                                            int64_t timeout_nanos) {
  return core_->Start(method, std::move(body), timeout_nanos);
}

Status RequestClient::Wait(const PendingAnswer& answer, const CallLimits& limits) {
  return core_->Wait(answer, limits);
}

void RequestClient::Cancel(PendingAnswer& answer) {
  core_->End(answer, Cancelled("the request was cancelled"));
}

Result<std::shared_ptr<PendingAnswer>> RequestClient::Call(int32_t method, Block body,
                                                           const CallLimits& limits) {
  int64_t timeout = 0;
  if (limits.clock != nullptr) {
    timeout = std::max<int64_t>(1, limits.deadline_nanos - limits.clock->NowNanos());
  }
  HR_ASSIGN_OR_RETURN(auto answer, Start(method, std::move(body), timeout));
  if (Status status = Wait(*answer, limits); !answer->done()) {
    core_->End(*answer, std::move(status));
  }
  HR_RETURN_IF_ERROR(answer->status().Clone());
  return answer;
}

Status RequestClient::status() const { return core_->status(); }

}  // namespace hr::comm
