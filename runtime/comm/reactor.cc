#include "runtime/comm/reactor.h"

#include <algorithm>
#include <thread>

#include "runtime/comm/poller.h"

namespace hr::comm {
namespace {

constexpr int64_t kDefaultSpinNanos = 50'000;
// Deadlines may be on the host's clock, so sleeps are cut.
constexpr int64_t kLongestSleepNanos = 500'000'000;
// Turns between two looks at the clock.
constexpr int kTurnsPerLook = 32;
// How long a thread that does not spin gives its core away before it sleeps: another rank that has
// this core gets on with it, and neither of them has to be woken.
constexpr int64_t kYieldNanos = 100'000;
// Of Poll(): long enough that two ranks that answer each other stay in it.
constexpr int64_t kPollNanos = 20'000;
constexpr int kLooksPerTurn = 32;
constexpr int kLooksPerClock = 64;

inline void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

bool IsCancelled(const CallLimits& limits) {
  return limits.cancel != nullptr && limits.cancel->cancelled();
}

}  // namespace

Result<std::unique_ptr<Reactor>> Reactor::Create(std::vector<Transport*> transports,
                                                 ReactorClient& client) {
  HR_ASSIGN_OR_RETURN(WakeEvent wake, WakeEvent::Create());
  return std::make_unique<Reactor>(std::move(transports), client, std::move(wake));
}

Reactor::Reactor(std::vector<Transport*> transports, ReactorClient& client, WakeEvent wake)
    : transports_(std::move(transports)),
      client_(client),
      spin_nanos_(kDefaultSpinNanos),
      wake_(std::move(wake)) {
  handles_.push_back(wake_.handle());
  for (Transport* transport : transports_) handles_.push_back(transport->wait_handle());
}

Reactor::~Reactor() { LeavePoller(); }

void Reactor::LeavePoller() {
  if (Poller* poller = poller_.exchange(nullptr)) poller->Remove(*this);
}

Reactor::Guard::Guard(Reactor& reactor) : reactor_(reactor) {
  if (reactor_.mutex_.try_lock()) return;
  reactor_.posters_.fetch_add(1, std::memory_order_relaxed);
  reactor_.mutex_.lock();
  reactor_.posters_.fetch_sub(1, std::memory_order_relaxed);
}

Reactor::Guard::~Guard() {
  reactor_.mutex_.unlock();
  reactor_.RouseAfterLock();
}

// Makes whoever sleeps on the handles, a waiter or the Poller, arm them anew: they may have been
// disarmed, or there may be something more to write.
void Reactor::Rouse() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  RouseAfterLock();
}

// Who is about to sleep says so before it takes the lock to arm: whoever has held the lock needs no
// fence, since either it sees that, or the sleeper has seen what was done under the lock.
void Reactor::RouseAfterLock() {
  if (asleep_.load(std::memory_order_relaxed)) wake_.Set();
  const Watch seen = watch_.load();
  if (seen == Watch::kSleeps || (seen != Watch::kDrives && IsLeftAlone())) CallPoller(seen);
}

// Unless another thread has called it since `seen`.
void Reactor::CallPoller(Watch seen) {
  if (!watch_.compare_exchange_strong(seen, Watch::kDrives)) return;
  if (Poller* poller = poller_.load()) poller->Kick();
}

void Reactor::CallTimer() {
  timer_due_ = true;
  if (Poller* poller = poller_.load()) poller->timers().Kick();
}

// The last thread that waited has gone.
void Reactor::LeaveToPoller() {
  const Watch seen = watch_.load();
  if (seen == Watch::kGone || (seen == Watch::kAway && IsLeftAlone())) CallPoller(seen);
}

void Reactor::ReceiveLocked() {
  for (Transport* transport : transports_) received_ |= transport->Progress();
}

void Reactor::Unlocked(FunctionRef<void()> compute) {
  mutex_.unlock();
  {
    Poller* const poller = poller_.load();
    const Lease lease = poller == nullptr ? Lease() : poller->LeaseForSum();
    compute();
  }
  mutex_.lock();
}

bool Reactor::TurnLocked() {
  ReceiveLocked();
  const bool moved = std::exchange(received_, false);
  return client_.Advance(moved) || moved;
}

bool Reactor::Poll(FunctionRef<bool()> done) {
  if (spin_nanos_.load(std::memory_order_relaxed) == 0 || !mutex_.try_lock()) return false;
  waits_.fetch_add(1, std::memory_order_relaxed);
  bool is_done = done();
  int64_t until = 0;
  for (int look = 1; !is_done && posters_.load(std::memory_order_relaxed) == 0; ++look) {
    const bool moved = look % kLooksPerTurn == 0 && TurnLocked();
    is_done = done();
    if (moved) break;
    if (look % kLooksPerClock != 0) continue;
    const int64_t now = SystemClock().NowNanos();
    if (until == 0) until = now + kPollNanos;
    if (now >= until) break;
  }
  mutex_.unlock();
  RouseAfterLock();  // the turns have disarmed the handles
  client_.Deliver();
  return is_done;
}

bool Reactor::Turn() { return TryTurn(true); }

bool Reactor::TryTurn(bool rearm) {
  if (posters_.load(std::memory_order_relaxed) > 0 || !mutex_.try_lock()) return false;
  const bool moved = TurnLocked();
  rearm = rearm && !moved && (asleep_.load() || watch_.load() == Watch::kSleeps);
  const bool armed = !rearm || ArmLocked();
  mutex_.unlock();
  if (!armed) RouseAfterLock();  // something has come meanwhile
  if (moved) client_.Deliver();
  return moved;
}

bool Reactor::ArmLocked() {
  return client_.Arm() && std::all_of(transports_.begin(), transports_.end(),
                                      [](Transport* transport) { return transport->Arm(); });
}

void Reactor::NoteCompletion() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  NoteCompletionLocked();
}

void Reactor::NoteCompletionLocked() {
  if (asleep_.load(std::memory_order_relaxed)) wake_.Set();
  if (sleeper_count_.load(std::memory_order_relaxed) > 0) {
    std::lock_guard lock(sleepers_mutex_);
    sleepers_.notify_all();
  }
}

// Counts a thread in Wait().
class Reactor::Waiting {
 public:
  explicit Waiting(Reactor& reactor) : reactor_(reactor) {
    reactor_.waiters_.fetch_add(1);
    reactor_.waits_.fetch_add(1, std::memory_order_relaxed);
    reactor_.Rouse();
  }
  ~Waiting() {
    if (reactor_.waiters_.fetch_sub(1) == 1) {
      reactor_.LeaveToPoller();
      return;
    }
    reactor_.Rouse();
    reactor_.NoteCompletion();  // one of the others must drive now
  }

 private:
  Reactor& reactor_;
};

Status Reactor::Wait(const std::atomic<bool>& done, const CallLimits& limits) {
  if (done.load(std::memory_order_acquire)) return {};
  Waiting waiting(*this);
  while (!Spin(done, limits)) {
    HR_RETURN_IF_ERROR(limits.Check());
    Sleep(done, limits);
  }
  return {};
}

// Polls for as long as something moves and a little longer. True if `done` came.
bool Reactor::Spin(const std::atomic<bool>& done, const CallLimits& limits) {
  const int64_t spin = spin_nanos_.load(std::memory_order_relaxed);
  const int64_t patience = spin > 0 ? spin : kYieldNanos;
  int64_t until = 0;
  for (int turn = 1;; ++turn) {
    if (done.load(std::memory_order_acquire)) return true;
    if (TryTurn(false)) {
      until = 0;
      if (IsCancelled(limits)) return false;
    } else if (spin > 0) {
      Pause();
    } else {
      std::this_thread::yield();
    }
    if (turn % kTurnsPerLook != 0 && spin > 0) continue;
    const int64_t now = SystemClock().NowNanos();
    if (until == 0) until = now + patience;
    if (now >= until || !limits.Check().ok()) return done.load(std::memory_order_acquire);
  }
}

void Reactor::Sleep(const std::atomic<bool>& done, const CallLimits& limits) {
  const CancelWake wake(
      limits.cancel, [](void* reactor) { static_cast<Reactor*>(reactor)->NoteCompletion(); }, this);
  {
    std::unique_lock right(handles_right_, std::try_to_lock);
    if (right.owns_lock()) return SleepOnHandles(done, limits);
  }
  Rouse();  // our turns have disarmed the handles of whoever sleeps on them
  sleeper_count_.fetch_add(1);
  { std::lock_guard lock(mutex_); }  // what completes from now on is told
  std::unique_lock lock(sleepers_mutex_);
  // Whoever had the handles may have left meanwhile, when there was nobody here to be told.
  std::unique_lock right(handles_right_, std::try_to_lock);
  if (right.owns_lock()) {
    sleeper_count_.fetch_sub(1);
    lock.unlock();
    return SleepOnHandles(done, limits);
  }
  if (!done.load(std::memory_order_acquire) && !IsCancelled(limits)) {
    sleepers_.wait_for(lock, std::chrono::nanoseconds(limits.SleepNanos(kLongestSleepNanos)));
  }
  sleeper_count_.fetch_sub(1);
}

void Reactor::SleepOnHandles(const std::atomic<bool>& done, const CallLimits& limits) {
  asleep_.store(true, std::memory_order_seq_cst);
  bool armed;
  {
    std::lock_guard lock(mutex_);
    armed = !TurnLocked() && !done.load(std::memory_order_acquire) && !IsCancelled(limits) &&
            ArmLocked();
  }
  client_.Deliver();
  if (armed) {
    WaitReadable(handles_, limits.SleepNanos(kLongestSleepNanos));
  }
  asleep_.store(false, std::memory_order_seq_cst);
  wake_.Clear();
}

}  // namespace hr::comm
