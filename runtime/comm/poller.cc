#include "runtime/comm/poller.h"

#include <algorithm>

namespace hr::comm {
namespace {

// While threads come to wait by themselves they are watched from afar: a look every millisecond,
// and none while one and the same call waits longer.
constexpr int64_t kPauseNanos = 1'000'000;
// After the last data that came for something in flight.
constexpr int64_t kSpinNanos = 50'000;
// Of most processes: a group that is watched later allocates nothing then.
constexpr size_t kHandles = 64;

}  // namespace

Poller::Poller(WakeEvent wake, std::unique_ptr<TimerThread> timers,
               std::shared_ptr<WorkerThreads> threads, ThreadBudget* budget)
    : wake_(std::move(wake)),
      threads_(std::move(threads)),
      budget_(budget),
      timers_(std::move(timers)) {
  handles_.reserve(kHandles);
}

Result<std::unique_ptr<Poller>> Poller::Create(std::shared_ptr<WorkerThreads> threads,
                                               ThreadBudget* budget) {
  HR_ASSIGN_OR_RETURN(WakeEvent wake, WakeEvent::Create());
  HR_ASSIGN_OR_RETURN(std::unique_ptr<TimerThread> timers, TimerThread::Create());
  std::unique_ptr<Poller> poller(
      new Poller(std::move(wake), std::move(timers), std::move(threads), budget));
  poller->thread_ = std::thread([p = poller.get()] { p->Run(); });
  return poller;
}

Poller::~Poller() {
  stop_ = true;
  Kick();
  thread_.join();
}

void Poller::Add(Reactor& reactor) {
  reactor.poller_ = this;
  {
    std::lock_guard lock(mutex_);
    entries_.push_back({.reactor = &reactor});
  }
  Kick();
  timers_->Add(reactor);
}

void Poller::Remove(Reactor& reactor) {
  timers_->Remove(reactor);
  {
    std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&](const Entry& entry) { return entry.reactor == &reactor; });
  }
  reactor.watch_ = Reactor::Watch::kDrives;
  Kick();
}

Lease Poller::LeaseForSum() {
  Lease lease;
  if (budget_ != nullptr && std::this_thread::get_id() == thread_.get_id()) {
    budget_->TryAcquire(1, nullptr, &lease);
  }
  return lease;
}

void Poller::Run() {
  while (!stop_) {
    const int64_t next = LookAtAll();
    if (next != 0) Sleep(next);
  }
}

void Poller::Sleep(int64_t until) {
  handles_.assign(1, wake_.handle());
  {
    std::lock_guard lock(mutex_);
    for (const Entry& entry : entries_) {
      if (entry.reactor->watch_ != Reactor::Watch::kSleeps) continue;
      for (Transport* t : entry.reactor->transports_) handles_.push_back(t->wait_handle());
    }
  }
  const int64_t now = SystemClock().NowNanos();
  WaitReadable(handles_, until == INT64_MAX ? -1 : std::max<int64_t>(0, until - now));
  wake_.Clear();
}

// Returns when to look again at the latest; 0: at once.
int64_t Poller::LookAtAll() {
  std::lock_guard lock(mutex_);
  int64_t next = INT64_MAX;
  for (Entry& entry : entries_) {
    const int64_t now = SystemClock().NowNanos();
    // A reactor on whose handles the thread sleeps is looked at whenever the thread wakes: that is
    // rare, and cheap.
    const Reactor::Watch watch = entry.reactor->watch_;
    const bool stays_away = watch == Reactor::Watch::kGone || watch == Reactor::Watch::kAway;
    if (!stays_away || now >= entry.look_at) Look(entry, now);
    next = std::min(next, entry.look_at);
  }
  return next;
}

void Poller::Look(Entry& entry, int64_t now) {
  Reactor& reactor = *entry.reactor;
  const uint64_t waits = reactor.waits_.load(std::memory_order_relaxed);
  const bool fresh = std::exchange(entry.waits, waits) != waits;
  if (reactor.waiters_.load() > 0 || (fresh && reactor.unattended_.load() == 0)) {
    StayAway(entry, now, fresh);
  } else {
    Drive(entry, now);
  }
}

void Poller::StayAway(Entry& entry, int64_t now, bool fresh) {
  Reactor& reactor = *entry.reactor;
  reactor.watch_ = fresh ? Reactor::Watch::kAway : Reactor::Watch::kGone;
  entry.look_at = fresh ? now + kPauseNanos : INT64_MAX;
  entry.spin_until = 0;
  // Whoever left before it could see that does not call.
  const bool left = fresh ? reactor.IsLeftAlone() : reactor.waiters_.load() == 0;
  if (!left) return;
  reactor.watch_ = Reactor::Watch::kDrives;
  entry.look_at = 0;
}

// One turn. If nothing has come for a while, the thread sleeps on the handles next.
void Poller::Drive(Entry& entry, int64_t now) {
  Reactor& reactor = *entry.reactor;
  reactor.watch_ = Reactor::Watch::kDrives;
  const int64_t spin = std::min(kSpinNanos, reactor.spin_nanos_.load(std::memory_order_relaxed));
  if (entry.spin_until == 0) entry.spin_until = now + spin;
  bool moved, armed = false;
  {
    std::lock_guard lock(reactor.mutex_);
    moved = reactor.TurnLocked();
    const bool spins = now < entry.spin_until && reactor.unattended_.load() > 0;
    if (!moved && !spins && reactor.ArmLocked()) {
      reactor.watch_ = Reactor::Watch::kSleeps;
      armed = true;
    }
  }
  if (moved) reactor.client_.Deliver();
  // A waiter that came before it could see that the thread sleeps does not call.
  if (armed && reactor.waiters_.load() > 0) {
    reactor.watch_ = Reactor::Watch::kDrives;
    armed = false;
  }
  if (armed || moved) entry.spin_until = 0;
  entry.look_at = armed ? INT64_MAX : 0;
}

}  // namespace hr::comm
