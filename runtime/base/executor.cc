#include "runtime/base/executor.h"

#include <algorithm>

#include "runtime/base/wait_point.h"

namespace hr {

struct ThreadBudget::Waiters {
  WaitPoint freed;
  std::atomic<int> count{0};
};

ThreadBudget::ThreadBudget(Executor& executor)
    : executor_(executor),
      total_(std::max(1, executor.concurrency())),
      free_(total_),
      waiters_(std::make_unique<Waiters>()) {}

ThreadBudget::~ThreadBudget() = default;

Result<Lease> ThreadBudget::Acquire(int wanted, const CallLimits& limits) {
  // Those who wait get their share, so that under load runs go side by side.
  auto try_take = [&](int sharers) -> int {
    int free = free_.load(std::memory_order_relaxed);
    while (free > 0) {
      int take = std::max(1, std::min(free / sharers, wanted));
      if (free_.compare_exchange_weak(free, free - take, std::memory_order_seq_cst)) return take;
    }
    return 0;
  };
  int taken = try_take(1 + waiters_->count.load(std::memory_order_relaxed));
  if (taken == 0) {
    waiters_->count.fetch_add(1, std::memory_order_seq_cst);
    Status waited = waiters_->freed.Wait(limits, [&] {
      taken = try_take(waiters_->count.load(std::memory_order_relaxed));
      return taken != 0;
    });
    waiters_->count.fetch_sub(1, std::memory_order_relaxed);
    if (!waited.ok()) return std::move(waited).WithContext("waiting for a thread of the budget");
  }
  Lease lease;
  lease.budget_ = this;
  lease.executor_ = &executor_;
  lease.threads_ = taken;
  return lease;
}

void ThreadBudget::Release(int threads) {
  free_.fetch_add(threads, std::memory_order_seq_cst);
  if (waiters_->count.load(std::memory_order_seq_cst) == 0) return;
  waiters_->freed.NotifyAll();
}

Lease Lease::Borrow(Executor& executor, int threads) {
  Lease lease;
  lease.executor_ = &executor;
  lease.threads_ = threads;
  return lease;
}

Lease::Lease(Lease&& other) noexcept { *this = std::move(other); }

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this == &other) return *this;
  if (budget_ != nullptr) budget_->Release(threads_);
  budget_ = std::exchange(other.budget_, nullptr);
  executor_ = std::exchange(other.executor_, nullptr);
  threads_ = std::exchange(other.threads_, 1);
  return *this;
}

Lease::~Lease() {
  if (budget_ != nullptr) budget_->Release(threads_);
}

}  // namespace hr
