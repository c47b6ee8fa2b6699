// Threads. An env has one budget of them; a run leases a share when it starts, so that however many
// sessions and host threads run, the runnable threads never exceed the budget.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/base/cancel.h"
#include "runtime/base/result.h"

namespace hr {

// A task body: called with task in [0, tasks). Plain pointers, so that it crosses the C ABI.
using TaskFunction = void (*)(void* context, int task);

// Runs tasks on threads of its own or of the host. Thread-safe.
class Executor {
 public:
  virtual ~Executor() = default;
  // The most threads, the caller's included, that may run tasks at one time.
  virtual int concurrency() const = 0;
  // Runs fn(context, 0 … tasks-1), each once, on at most `threads` threads of which the caller is
  // one, and returns when all are done. What the tasks wrote is visible to the caller.
  virtual void ParallelFor(int tasks, int threads, TaskFunction fn, void* context) = 0;
};

// The executor of an env whose host injected none: `threads - 1` workers, which spin for a few
// microseconds between regions and sleep otherwise.
Result<std::unique_ptr<Executor>> CreateThreadPool(int threads);

class ThreadBudget;

// The threads of one run, the calling one included. Movable; gives them back when destroyed.
class Lease {
 public:
  Lease() = default;
  Lease(Lease&& other) noexcept;
  Lease& operator=(Lease&& other) noexcept;
  ~Lease();

  // Threads that somebody else leased; `executor` must outlive the answer.
  static Lease Borrow(Executor& executor, int threads);

  // At least 1.
  int threads() const { return threads_; }

  // Calls body(task) for each task in [0, tasks), in parallel where the lease has threads for it.
  // `tasks` fixes how work is cut, so results do not depend on how many threads were free.
  template <typename Body>
  void ParallelFor(int tasks, Body&& body) const {
    if (tasks <= 1 || threads_ <= 1) {
      for (int task = 0; task < tasks; ++task) body(task);
      return;
    }
    executor_->ParallelFor(
        tasks, threads_,
        [](void* context, int task) {
          (*static_cast<std::remove_reference_t<Body>*>(context))(task);
        },
        const_cast<void*>(static_cast<const void*>(&body)));
  }

 private:
  friend class ThreadBudget;
  ThreadBudget* budget_ = nullptr;
  Executor* executor_ = nullptr;
  int threads_ = 1;
};

// Hands out the threads of one executor.
class ThreadBudget {
 public:
  explicit ThreadBudget(Executor& executor);
  ~ThreadBudget();

  int total() const { return total_; }
  // Between 1 and `wanted` threads, fewer where others wait for some; waits while none is free,
  // within `limits`.
  Result<Lease> Acquire(int wanted, const CallLimits& limits);

 private:
  friend class Lease;
  void Release(int threads);

  struct Waiters;
  Executor& executor_;
  const int total_;
  std::atomic<int> free_;
  std::unique_ptr<Waiters> waiters_;
};

}  // namespace hr
