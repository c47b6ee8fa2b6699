// Threads. An env has a budget of them. A run leases a share when it starts, so that the threads
// that compute never exceed the budget, however many sessions and host threads run.
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
  // Returns the most threads, including the caller's, that may run tasks at one time.
  virtual int concurrency() const = 0;
  // Calls fn(context, task) once for each task in [0, tasks), on at most `threads` threads
  // including the caller's, and returns when all calls have returned. What the tasks wrote is
  // visible to the caller.
  virtual void ParallelFor(int tasks, int threads, TaskFunction fn, void* context) = 0;
};

// Creates the executor of an env for which the host has given none: `threads - 1` workers, which
// spin for a few microseconds after their work and then sleep.
Result<std::unique_ptr<Executor>> CreateThreadPool(int threads);

class ThreadBudget;

// The threads of one run, including the calling one. The destructor gives them back.
class Lease {
 public:
  Lease() = default;
  Lease(Lease&& other) noexcept;
  Lease& operator=(Lease&& other) noexcept;
  ~Lease();

  // Returns a lease over threads that belong to somebody else's lease; `executor` must outlive it.
  static Lease Borrow(Executor& executor, int threads);

  // At least 1.
  int threads() const { return threads_; }

  // Calls body(task) for each task in [0, tasks), in parallel if the lease has several threads.
  // `tasks` alone decides how work is cut, so results do not depend on the number of free threads.
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
  // Returns a lease of 1 to `wanted` threads, fewer if others wait for some. Waits within `limits`
  // while none is free.
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
