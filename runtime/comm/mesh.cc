#include "runtime/comm/mesh.h"

#include <algorithm>
#include <thread>

#include "runtime/base/file.h"

namespace hr::comm {
namespace {

// Between two looks at whether all has been sent, when a group closes.
constexpr std::chrono::microseconds kFirstPause(20), kLastPause(2000);

}  // namespace

Mesh::~Mesh() {
  Close();
  Unpublish();
}

Status Mesh::status() {
  Reactor::Guard guard(*reactor_);
  return status_.Clone();
}

std::optional<Verdict> Mesh::verdict() {
  Reactor::Guard guard(*reactor_);
  return verdict_;
}

std::vector<int> Mesh::suspects() {
  Reactor::Guard guard(*reactor_);
  std::vector<int> suspects = suspects_;
  for (const Peer& peer : peers_) {
    if (peer.endpoint == nullptr || peer.endpoint->status().ok()) continue;
    const int rank = RankOf(peer);
    if (std::find(suspects.begin(), suspects.end(), rank) == suspects.end()) {
      suspects.push_back(rank);
    }
  }
  return suspects;
}

std::string Mesh::RecorderJson() {
  Reactor::Guard guard(*reactor_);
  return recorder_.Json();
}

std::string Mesh::TransportOf(int rank) const {
  const Transport* transport = peers_[rank].transport;
  return transport == nullptr ? "self" : std::string(transport->name());
}

MemorySharer* Mesh::SharerOf(const std::vector<int>& ranks) const {
  MemorySharer* sharer = nullptr;
  for (int rank : ranks) {
    if (rank == options_.rank) continue;
    MemorySharer* theirs = peers_[rank].transport->memory_sharer();
    if (theirs == nullptr || (sharer != nullptr && theirs != sharer)) return nullptr;
    sharer = theirs;
  }
  return sharer;
}

Status Mesh::Start(const WorkRef& work, bool attended) {
  {
    Reactor::Guard guard(*reactor_);
    if (!status_.ok()) return status_.Clone();
    if (closed_) return FailedPrecondition("group '", options_.name, "' is closed");
    work->tell_nanos_ = 0;
    work->active_at_ = active_.size();
    active_.push_back(work.Share());
    work->unattended_ = !attended;
    if (!attended) reactor_->BeginUnattended();
    // Held back while it starts, so that transfers that end at once do not enter it in the list.
    work->ready_ = true;
    work->record_ = FlightRecorder::kNone;
    RunOn(*work);
    Record(*work);  // now that its messages are on their way, for which the peers wait
  }
  Deliver();
  return {};
}

bool Mesh::SendNow(const Message& message, FunctionRef<bool()> complete, const void* data) {
  Reactor::Guard guard(*reactor_);
  if (!IsLive() || !complete()) return false;
  Endpoint& endpoint = *peers_[message.rank].endpoint;
  const Bytes bytes = {static_cast<const std::byte*>(data), message.bytes};
  if (!endpoint.SendNow(message.tag, message.label, bytes)) return false;
  Draft(message);  // now that it is on its way
  recorder_.PublishEnded();
  return true;
}

bool Mesh::RecvNow(const Message& message, void* data) {
  Endpoint* endpoint = nullptr;
  return reactor_->Poll([&] {
    if (!IsLive()) return false;
    if (endpoint == nullptr) {
      endpoint = peers_[message.rank].endpoint.get();
      Draft(message);  // before it comes, because somebody may wait for what comes of it
    }
    const std::span<std::byte> room = {static_cast<std::byte*>(data), message.bytes};
    if (!endpoint->RecvNow(message.tag, message.label, room)) return false;
    recorder_.PublishEnded();
    return true;
  });
}

void Mesh::Draft(const Message& message) {
  recorder_.Draft({.channel = message.channel,
                   .sequence = Work::SequenceOf(message.tag),
                   .label = message.label,
                   .operation = message.operation,
                   .state = FlightRecorder::State::kDone,
                   .posted = recorder_.ticks().Now()});
}

void Mesh::Record(Work& work) {
  using State = FlightRecorder::State;
  work.posted_ = recorder_.ticks().Now();
  const State ended = work.status_.ok() ? State::kDone : State::kFailed;
  work.record_ = recorder_.Post({.channel = work.channel_,
                                 .sequence = work.sequence(),
                                 .label = work.label_,
                                 .operation = work.operation_,
                                 .state = work.done() ? ended : State::kRunning,
                                 .posted = work.posted_,
                                 .ended = work.done() ? work.posted_ : 0});
}

void Mesh::Ready(Work& work) {
  if (std::exchange(work.ready_, true)) return;
  ready_.push_back(&work);
}

// Lets it run as far as it can, while it is marked as ready.
void Mesh::RunOn(Work& work) {
  const bool finished = work.Run();
  work.ready_ = false;
  if (finished) return Finish(work, {});
  if (work.schedule_->raises > 0 && !std::exchange(work.watched_, true)) {
    watched_.push_back(&work);
    NoteGone(work);
  }
}

// In shared memory no transfer tells that a rank had left before the operation began.
void Mesh::NoteGone(const Work& work) {
  for (int rank : work.pool_->ranks()) {
    const Endpoint* endpoint = peers_[rank].endpoint.get();
    if (endpoint != nullptr && !endpoint->status().ok()) OnPeerFailed(rank, endpoint->status());
  }
}

// Operations in shared memory, in the order in which they were posted, since one may wait for the
// other's turn to end. True if any could go on.
bool Mesh::LookAtWatched() {
  bool any = false;
  for (size_t i = 0; i < watched_.size();) {
    Work& work = *watched_[i];
    const size_t before = work.next_step_;
    work.ready_ = true;
    RunOn(work);
    const bool ended = i == watched_.size() || watched_[i] != &work;
    any |= ended || work.next_step_ != before;
    if (!ended) ++i;
  }
  return any;
}

bool Mesh::Arm() {
  if (watched_.empty()) return true;
  for (Work* work : watched_) work->pool_->shared()->AskToBeWoken();
  return std::none_of(watched_.begin(), watched_.end(), [](Work* work) { return work->CanGoOn(); });
}

void Mesh::RunReady() {
  for (size_t i = 0; i < ready_.size(); ++i) {
    Work& work = *ready_[i];
    if (!work.done()) RunOn(work);  // else ended by a verdict
  }
  ready_.clear();
}

bool Mesh::Advance(bool moved) {
  if (!moved && watched_.empty() && ready_.empty() && heard_.empty()) return false;
  bool any = !ready_.empty() || !heard_.empty();
  if (!watched_.empty()) any |= LookAtWatched();
  // First what came before a verdict: whose data is all there has ended well.
  RunReady();
  while (!heard_.empty()) {
    const int rank = heard_.back();
    heard_.pop_back();
    Peer& peer = peers_[rank];
    if (!peer.control.status.ok()) {
      peer.heard_out = true;
      OnPeerFailed(rank, peer.control.status);
      EndTogether(SystemClock().NowNanos());
      continue;
    }
    const std::string text(AsText({peer.control_text, peer.control.received}));
    ListenTo(peer);
    OnControl(rank, text);
  }
  if (moved) TurnAway();
  RunReady();
  if (!control_messages_.empty()) {
    control_messages_.remove_if([](const ControlMessage& message) { return message.sent; });
  }
  return any;
}

void Mesh::Finish(Work& work, Status status) {
  recorder_.End(work.record_, status.ok());
  if (work.ready_) std::erase(ready_, &work);
  if (work.watched_) std::erase(watched_, &work);
  const WorkRef ended = std::move(active_[work.active_at_]);
  if (work.active_at_ + 1 < active_.size()) {
    active_[work.active_at_] = std::move(active_.back());
    active_[work.active_at_]->active_at_ = work.active_at_;
  }
  active_.pop_back();
  if (work.unattended_) reactor_->EndUnattended();
  work.status_ = std::move(status);
  if (!work.callbacks_.empty()) {
    std::lock_guard lock(ended_mutex_);
    ended_.push_back(ended.Share());
    any_ended_.store(true, std::memory_order_release);
  }
  work.done_.store(true, std::memory_order_release);
  reactor_->NoteCompletionLocked();
}

// Takes back the memory that the transports still use for `work`.
void Mesh::EndTransfers(Work& work) {
  for (uint32_t i = 0; i < work.started_; ++i) {
    Work::Part& part = work.parts_[i];
    if (!part.complete) peers_[part.peer].endpoint->Cancel(part);
  }
}

bool Mesh::IsComing(const Work& work) const {
  for (uint32_t i = 0; i < work.started_; ++i) {
    const Work::Part& part = work.parts_[i];
    if (!part.complete && peers_[part.peer].endpoint->IsComing(part)) return true;
  }
  return false;
}

void Mesh::Deliver() {
  if (!any_ended_.load(std::memory_order_acquire)) return;
  std::vector<WorkRef> ended;
  {
    std::lock_guard lock(ended_mutex_);
    ended.swap(ended_);
    any_ended_ = false;
  }
  for (const WorkRef& work : ended) {
    for (auto& callback : std::exchange(work->callbacks_, {})) callback(work->status_);
  }
}

// What this rank accuses somebody of, perhaps itself, is not lost if it closes right after.
void Mesh::AwaitVerdict() {
  const int64_t give_up = SystemClock().NowNanos() + 1'000'000'000;
  auto pending = [this] {
    Reactor::Guard guard(*reactor_);
    return accused_ && status_.ok() && !closed_;
  };
  DriveWhile(pending, give_up);
}

void Mesh::DriveWhile(FunctionRef<bool()> pending, int64_t give_up) {
  for (auto pause = kFirstPause; pending() && SystemClock().NowNanos() < give_up;) {
    if (reactor_->Turn()) {
      pause = kFirstPause;
      continue;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLastPause);
  }
}

void Mesh::Close() {
  if (reactor_ == nullptr) return;
  AwaitVerdict();
  {
    std::lock_guard lock(asker_->mutex);
    asker_->mesh = nullptr;
  }
  const int64_t give_up = SystemClock().NowNanos() + 1'000'000'000;
  {
    Reactor::Guard guard(*reactor_);
    if (std::exchange(closed_, true)) return;
    EndAll(Cancelled("group '", options_.name, "' was closed"));
    for (Peer& peer : peers_) {
      if (peer.endpoint != nullptr) {
        peer.endpoint->Close(Cat("rank ", options_.rank, " closed group '", options_.name, "'"));
      }
    }
  }
  Deliver();
  // What was sent goes out, unless a peer does not take it.
  auto flushing = [this] {
    Reactor::Guard guard(*reactor_);
    return std::any_of(peers_.begin(), peers_.end(), [](const Peer& peer) {
      return peer.endpoint != nullptr && !peer.endpoint->flushed();
    });
  };
  DriveWhile(flushing, give_up);
  reactor_->LeavePoller();
  Report();
  if (status().ok()) DropRecorderFile();
  Unpublish();
}

}  // namespace hr::comm
