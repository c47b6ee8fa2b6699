#include "runtime/comm/poller.h"

#include <algorithm>

namespace hr::comm {
namespace {

// While threads come to wait by themselves they are watched from afar: a look every millisecond,
// less often while one and the same call waits long.
constexpr int64_t kFirstPauseNanos = 1'000'000;
constexpr int64_t kLastPauseNanos = 64'000'000;

}  // namespace

Result<std::unique_ptr<Poller>> Poller::Create(std::shared_ptr<WorkerThreads> threads) {
  HR_ASSIGN_OR_RETURN(WakeEvent wake, WakeEvent::Create());
  std::unique_ptr<Poller> poller(new Poller(std::move(wake), std::move(threads)));
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
}

void Poller::Remove(Reactor& reactor) {
  {
    std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&](const Entry& entry) { return entry.reactor == &reactor; });
  }
  reactor.watched_ = false;
  Kick();
}

void Poller::Run() {
  std::vector<int> handles;
  handles.reserve(64);  // of most processes; a group that is watched later allocates nothing then
  while (!stop_) {
    const int64_t next = LookAtAll();
    handles.assign(1, wake_.handle());
    {
      std::lock_guard lock(mutex_);
      for (const Entry& entry : entries_) {
        if (!entry.reactor->watched_) continue;
        for (Transport* t : entry.reactor->transports_) handles.push_back(t->wait_handle());
      }
    }
    const int64_t now = SystemClock().NowNanos();
    const int64_t wait = next == INT64_MAX ? -1 : std::max<int64_t>(0, next - now);
    WaitReadable(handles, wait);
    wake_.Clear();
  }
}

// Returns when to look again at the latest.
int64_t Poller::LookAtAll() {
  std::lock_guard lock(mutex_);
  int64_t next = INT64_MAX;
  for (Entry& entry : entries_) {
    const int64_t now = SystemClock().NowNanos();
    if (entry.reactor->timer_due_.exchange(false) || now >= entry.timer_at) {
      entry.timer_at = entry.reactor->client_.OnTimer(now);
    }
    // A watched reactor is looked at whenever the thread wakes: that is rare, and cheap.
    const bool taken_over = entry.look_at == INT64_MAX;
    if (taken_over || now >= entry.look_at) Look(entry, now);
    next = std::min({next, entry.look_at, entry.timer_at});
  }
  return next;
}

void Poller::Look(Entry& entry, int64_t now) {
  Reactor& reactor = *entry.reactor;
  const uint64_t waits = reactor.waits_.load(std::memory_order_relaxed);
  const bool fresh = std::exchange(entry.waits, waits) != waits;
  if (fresh || reactor.waiters_.load() > 0) {
    reactor.watched_ = false;
    entry.pause_nanos = fresh ? kFirstPauseNanos : std::min(2 * entry.pause_nanos, kLastPauseNanos);
    entry.look_at = now + entry.pause_nanos;
    return;
  }
  entry.look_at = Drive(reactor) ? INT64_MAX : now;
}

// Drives until nothing moves, then arms. False if a thread has come to wait meanwhile or the
// reactor is not at rest, so that another look is due.
bool Poller::Drive(Reactor& reactor) {
  for (int turns = 0; turns < 1000; ++turns) {
    bool armed = false;
    bool moved;
    {
      std::lock_guard lock(reactor.mutex_);
      moved = reactor.TurnLocked();
      if (!moved && reactor.ArmLocked()) {
        reactor.watched_.store(true, std::memory_order_seq_cst);
        armed = true;
      }
    }
    if (moved) reactor.client_.Deliver();
    if (armed) {
      // A waiter that came before it could see the watch has been missed; look again.
      if (reactor.waiters_.load(std::memory_order_seq_cst) == 0) return true;
      reactor.watched_ = false;
      return false;
    }
  }
  return false;
}

}  // namespace hr::comm
