#include "runtime/comm/operations.h"

#include <algorithm>

namespace hr::comm {
namespace {

// So many operations are in flight before a list allocates, in a step perhaps.
constexpr size_t kInFlight = 256;

}  // namespace

Operations::Operations(Peers& peers, Reactor& reactor, FlightRecorder& recorder, Faults& faults)
    : peers_(peers), reactor_(reactor), recorder_(recorder), faults_(faults) {
  active_.reserve(kInFlight);
  ready_.reserve(kInFlight);
  watched_.reserve(kInFlight);
}

void Operations::Start(const WorkRef& work, bool attended) {
  work->tell_nanos_ = 0;
  work->active_at_ = active_.size();
  active_.push_back(work.Share());
  work->unattended_ = !attended;
  if (!attended) reactor_.BeginUnattended();
  // Held back while it starts, so that transfers that end at once do not enter it in the list.
  work->ready_ = true;
  work->record_ = FlightRecorder::kNone;
  RunOn(*work);
  // Now that its messages are on their way, for which the peers wait.
  if (work->record_ == FlightRecorder::kNone) Record(*work);
}

bool Operations::SendNow(const ShortMessage& message, const void* data) {
  const Bytes bytes = {static_cast<const std::byte*>(data), message.bytes};
  if (!endpoint(message.rank).SendNow(message.tag, message.label, bytes)) return false;
  Draft(message);  // now that it is on its way
  recorder_.PublishEnded();
  return true;
}

bool Operations::RecvNow(const ShortMessage& message, void* data) {
  const std::span<std::byte> room = {static_cast<std::byte*>(data), message.bytes};
  if (!endpoint(message.rank).RecvNow(message.tag, message.label, room)) return false;
  recorder_.PublishEnded();
  return true;
}

void Operations::Draft(const ShortMessage& message) {
  recorder_.Draft({.channel = message.channel,
                   .sequence = Work::SequenceOf(message.tag),
                   .label = message.label,
                   .operation = message.operation,
                   .state = FlightRecorder::State::kDone,
                   .posted = recorder_.ticks().Now()});
}

void Operations::Record(Work& work) {
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

void Operations::Ready(Work& work) {
  if (std::exchange(work.ready_, true)) return;
  ready_.push_back(&work);
}

// Lets it run as far as it can, while it is marked as ready. Returns whether it went on. Others may
// drive meanwhile, so that lists have changed afterwards.
bool Operations::RunOn(Work& work) {
  const size_t before = work.next_step_;
  const bool finished = work.Run();
  work.ready_ = false;
  if (finished || !work.ending_.ok()) {
    Finish(work, std::move(work.ending_));
    return true;
  }
  if (work.schedule_->raises > 0 && !std::exchange(work.watched_, true)) {
    watched_.push_back(&work);
    NoteGone(work);
  }
  return work.next_step_ != before;
}

bool Operations::ComputeUnlocked(Work& work, FunctionRef<void()> compute) {
  if (work.record_ == FlightRecorder::kNone) Record(work);  // peers may ask for it
  work.computing_ = true;
  reactor_.Unlocked(compute);
  work.computing_ = false;
  return work.ending_.ok();
}

// In shared memory no transfer tells that a rank had left before the operation began.
void Operations::NoteGone(const Work& work) {
  for (int rank : work.ranks()) {
    const Endpoint* endpoint = peers_.endpoint(rank);
    if (endpoint != nullptr && !endpoint->status().ok()) {
      faults_.OnPeerFailed(rank, endpoint->status());
    }
  }
}

// In the order in which they were posted, since one may wait for the other's turn to end.
bool Operations::LookAtWatched() {
  bool any = false;
  for (size_t i = 0; i < watched_.size();) {
    Work& work = *watched_[i];
    bool went_on = false;
    if (!work.computing_) {
      work.ready_ = true;
      went_on = RunOn(work);
    }
    any |= went_on;
    i = went_on ? 0 : i + 1;
  }
  return any;
}

bool Operations::Arm() {
  if (watched_.empty()) return true;
  for (Work* work : watched_) work->pool_->shared()->AskToBeWoken();
  return std::none_of(watched_.begin(), watched_.end(), [](Work* work) { return work->CanGoOn(); });
}

void Operations::RunReady() {
  while (!ready_.empty()) {
    Work& work = *ready_.front();
    ready_.erase(ready_.begin());
    RunOn(work);
  }
}

void Operations::Finish(Work& work, Status status) {
  recorder_.End(work.record_, status.ok());
  if (work.ready_) std::erase(ready_, &work);
  if (work.watched_) std::erase(watched_, &work);
  const WorkRef ended = std::move(active_[work.active_at_]);
  if (work.active_at_ + 1 < active_.size()) {
    active_[work.active_at_] = std::move(active_.back());
    active_[work.active_at_]->active_at_ = work.active_at_;
  }
  active_.pop_back();
  if (work.unattended_) reactor_.EndUnattended();
  work.status_ = std::move(status);
  if (!work.callbacks_.empty()) {
    std::lock_guard lock(ended_mutex_);
    ended_.push_back(ended.Share());
    any_ended_.store(true, std::memory_order_release);
  }
  work.done_.store(true, std::memory_order_release);
  reactor_.NoteCompletionLocked();
}

void Operations::Deliver() {
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

// Takes back the memory that the transports still use for `work`.
void Operations::EndTransfers(Work& work) {
  for (uint32_t i = 0; i < work.started_; ++i) {
    Work::Part& part = work.parts_[i];
    if (!part.complete) endpoint(part.peer).Cancel(part);
  }
}

bool Operations::IsComing(const Work& work) const {
  for (uint32_t i = 0; i < work.started_; ++i) {
    const Work::Part& part = work.parts_[i];
    if (!part.complete && peers_.endpoint(part.peer)->IsComing(part)) return true;
  }
  return false;
}

void Operations::End(Work& work, const Status& status) {
  if (!work.ending_.ok()) return;
  EndTransfers(work);
  if (work.computing_) {
    work.ending_ = status.Clone();
  } else {
    Finish(work, status.Clone());
  }
}

// From the end: those that a thread sums for remain.
void Operations::EndAll(const Status& status) {
  for (size_t i = active_.size(); i > 0; --i) End(*active_[i - 1], status);
}

void Operations::OnTransferFailed(Work& work, Work::Part& part) {
  if (work.done() || part.status.code() == Code::kCancelled) return;
  if (!part.sends && part.label != work.label_) {
    return faults_.OnMismatch(work, part.peer, part.label);
  }
  switch (part.status.code()) {
    case Code::kInvalidArgument:  // the peer expected another size: it tells everybody
    case Code::kAborted:          // the peer has cancelled: so does it
      return;
    default: return faults_.OnPeerFailed(part.peer, part.status);
  }
}

}  // namespace hr::comm
