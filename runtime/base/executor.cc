#include "runtime/base/executor.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>

namespace hr {

struct ThreadBudget::Waiters {
  std::mutex mutex;
  std::condition_variable freed;
  std::atomic<int> count{0};
};

ThreadBudget::ThreadBudget(Executor& executor)
    : executor_(executor),
      total_(std::max(1, executor.concurrency())),
      free_(total_),
      waiters_(std::make_unique<Waiters>()) {}

ThreadBudget::~ThreadBudget() = default;

Result<Lease> ThreadBudget::Acquire(int wanted, const CallLimits& limits) {
  auto try_take = [&]() -> int {
    int free = free_.load(std::memory_order_relaxed);
    while (free > 0) {
      int take = std::min(free, std::max(1, wanted));
      if (free_.compare_exchange_weak(free, free - take, std::memory_order_seq_cst)) return take;
    }
    return 0;
  };
  int taken = try_take();
  if (taken == 0) {
    std::unique_lock lock(waiters_->mutex);
    waiters_->count.fetch_add(1, std::memory_order_seq_cst);
    Status limit;
    while ((taken = try_take()) == 0 && (limit = limits.Check()).ok()) {
      // A cancel token does not notify, so waiting is sliced.
      waiters_->freed.wait_for(lock, std::chrono::milliseconds(5));
    }
    waiters_->count.fetch_sub(1, std::memory_order_relaxed);
    if (taken == 0) return std::move(limit).WithContext("waiting for a thread of the budget");
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
  std::lock_guard lock(waiters_->mutex);
  waiters_->freed.notify_all();
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
