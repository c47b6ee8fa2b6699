#include "runtime/base/executor.h"

#include <algorithm>

#include "runtime/base/quick_mutex.h"
#include "runtime/base/wait_point.h"

namespace hr {

// Those who wait, in the order in which they came. Who comes while threads are free may take them
// first, since waking somebody takes as long as a short run; but not for ever.
struct ThreadBudget::Waiters {
  struct Turn {
    int64_t since;
    Turn* next = nullptr;
  };
  static constexpr int64_t kPatience = 500'000;  // nanoseconds
  static constexpr int64_t kNobody = INT64_MAX;

  WaitPoint freed;
  std::atomic<int> count{0};
  std::atomic<int64_t> oldest{kNobody};  // since when the first one waits
  Turn* first = nullptr;                 // guarded by the mutex of `freed`

  void Add(Turn* turn) {
    std::lock_guard lock(freed.mutex());
    Turn** end = &first;
    while (*end != nullptr) end = &(*end)->next;
    *end = turn;
    Update(1);
  }
  void Remove(const Turn* turn) {
    std::lock_guard lock(freed.mutex());
    Turn** at = &first;
    while (*at != turn) at = &(*at)->next;
    *at = turn->next;
    Update(-1);
  }
  void Notify() {
    if (count.load(std::memory_order_seq_cst) != 0) freed.NotifyAll();
  }
  bool HaveWaitedLong() const {
    const int64_t since = oldest.load(std::memory_order_relaxed);
    return since != kNobody && SystemClock().NowNanos() - since > kPatience;
  }

 private:
  void Update(int change) {
    oldest.store(first == nullptr ? kNobody : first->since, std::memory_order_relaxed);
    count.fetch_add(change, std::memory_order_seq_cst);
  }
};

// All scopes, the newest first, in a list and not thread-local: nobody looks at it but a thread
// that meets a lock or a thread in host code.
struct ThreadBudget::HostCode {
  mutable QuickMutex mutex;
  HostScope* first = nullptr;
};

ThreadBudget::ThreadBudget(Executor& executor)
    : executor_(executor),
      total_(std::max(1, executor.concurrency())),
      free_(total_),
      waiters_(std::make_unique<Waiters>()),
      host_code_(std::make_unique<HostCode>()) {}

ThreadBudget::~ThreadBudget() = default;

int ThreadBudget::Take(int wanted, int sharers) {
  int free = free_.load(std::memory_order_relaxed);
  while (free > 0) {
    int take = std::max(1, std::min(free / sharers, wanted));
    if (free_.compare_exchange_weak(free, free - take, std::memory_order_seq_cst)) return take;
  }
  return 0;
}

Lease ThreadBudget::Make(int threads, const void* user, const HostScope* lender) {
  Lease lease;
  lease.budget_ = this;
  lease.executor_ = &executor_;
  lease.threads_ = threads;
  lease.owned_ = lender == nullptr;
  lease.user_ = user;
  lease.lender_ = lender;
  return lease;
}

// Of runs, each in host code of the one before. More are a recursion without end, as a rule, which
// would be one of the stack.
constexpr int kMostNested = 16;

bool ThreadBudget::TryAcquire(int wanted, const void* user, Lease* out) {
  const HostScope* lender = Innermost();
  int depth = 0;
  for (const HostScope* one = lender; one != nullptr; one = one->outer_) ++depth;
  if (depth >= kMostNested) return false;
  // Those who wait get their share, so that under load runs go side by side.
  const int waiting = waiters_->count.load(std::memory_order_relaxed);
  int threads = 0;
  if (lender != nullptr) {
    threads = std::min(wanted, lender->threads_);
  } else if (waiting == 0 || free_.load(std::memory_order_relaxed) > waiting ||
             !waiters_->HaveWaitedLong()) {
    threads = Take(wanted, 1 + waiting);
  }
  if (threads == 0) return false;
  *out = Make(threads, user, lender);
  return true;
}

Result<Lease> ThreadBudget::Acquire(int wanted, const CallLimits& limits, const void* user) {
  Lease lease;
  if (TryAcquire(wanted, user, &lease)) return lease;
  if (IsInside()) {  // only this many times
    return FailedPrecondition("runs are nested ", kMostNested,
                              " deep, each in a function of the host inside the one before; end "
                              "this recursion");
  }
  int taken = 0;
  Waiters::Turn turn{.since = SystemClock().NowNanos()};
  waiters_->Add(&turn);
  Status waited = waiters_->freed.Wait(limits, [&] {
    if (waiters_->first != &turn) return false;
    taken = Take(wanted, waiters_->count.load(std::memory_order_relaxed));
    return taken != 0;
  });
  waiters_->Remove(&turn);
  waiters_->Notify();  // the next one may take what is left
  if (!waited.ok()) return std::move(waited).WithContext("waiting for a thread of the budget");
  return Make(taken, user, nullptr);
}

void ThreadBudget::Release(int threads) {
  free_.fetch_add(threads, std::memory_order_seq_cst);
  waiters_->Notify();
}

const HostScope* ThreadBudget::Innermost() const {
  if (scopes_.load(std::memory_order_relaxed) == 0) return nullptr;
  const std::thread::id self = std::this_thread::get_id();
  std::lock_guard lock(host_code_->mutex);
  const HostScope* scope = host_code_->first;
  while (scope != nullptr && scope->thread_ != self) scope = scope->next_;
  return scope;
}

bool ThreadBudget::IsInside(const void* user) const {
  const HostScope* scope = Innermost();
  while (scope != nullptr && scope->user_ != user) scope = scope->outer_;
  return scope != nullptr;
}

void ThreadBudget::Add(HostScope* scope) {
  std::lock_guard lock(host_code_->mutex);
  scopes_.fetch_add(1, std::memory_order_relaxed);
  scope->next_ = host_code_->first;
  scope->link_ = &host_code_->first;
  if (scope->next_ != nullptr) scope->next_->link_ = &scope->next_;
  host_code_->first = scope;
}

void ThreadBudget::Remove(HostScope* scope) {
  std::lock_guard lock(host_code_->mutex);
  scopes_.fetch_sub(1, std::memory_order_relaxed);
  *scope->link_ = scope->next_;
  if (scope->next_ != nullptr) scope->next_->link_ = scope->link_;
}

HostScope::HostScope(const Lease& lease, int threads)
    : budget_(lease.budget_), user_(lease.user_), outer_(lease.lender_), threads_(threads) {
  if (budget_ != nullptr) budget_->Add(this);
}

HostScope::~HostScope() {
  if (budget_ != nullptr) budget_->Remove(this);
}

Lease Lease::Borrow(Executor& executor, int threads) {
  Lease lease;
  lease.executor_ = &executor;
  lease.threads_ = threads;
  return lease;
}

Lease Lease::Through(Executor& executor) const {
  Lease lease = Borrow(executor, threads_);
  lease.budget_ = budget_;
  lease.user_ = user_;
  lease.lender_ = lender_;
  return lease;
}

Lease::Lease(Lease&& other) noexcept { *this = std::move(other); }

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this == &other) return *this;
  GiveBack();
  budget_ = std::exchange(other.budget_, nullptr);
  executor_ = std::exchange(other.executor_, nullptr);
  threads_ = std::exchange(other.threads_, 1);
  owned_ = std::exchange(other.owned_, false);
  user_ = other.user_;
  lender_ = other.lender_;
  return *this;
}

Lease::~Lease() { GiveBack(); }

void Lease::GiveBack() {
  if (owned_) budget_->Release(threads_);
}

}  // namespace hr
