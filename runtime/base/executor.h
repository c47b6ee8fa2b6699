// Threads. An env has a budget of them. A run leases a share when it starts, so that the threads
// that compute never exceed the budget, however many sessions and host threads run.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

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

class HostScope;
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
  // Returns a lease over the threads of this one, for the same user, whose tasks go through
  // `executor`. Both must outlive it.
  Lease Through(Executor& executor) const;

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
  friend class HostScope;
  friend class ThreadBudget;
  void GiveBack();

  ThreadBudget* budget_ = nullptr;  // whose threads they are, if they are an env's
  Executor* executor_ = nullptr;
  int threads_ = 1;
  bool owned_ = false;  // they are given back to the budget
  const void* user_ = nullptr;
  const HostScope* lender_ = nullptr;
};

// As long as it lives, its thread is in a function of the host that a run has called. What that
// function makes the library run on this thread uses the threads of the run, which wait for it
// anyway, instead of waiting for free ones, of which there may be none until it has returned.
class HostScope {
 public:
  // `threads`: how many of the lease's have nothing else to do: all of them, or 1 within a task.
  // The lease outlives the scope.
  HostScope(const Lease& lease, int threads);
  HostScope(const HostScope&) = delete;
  HostScope& operator=(const HostScope&) = delete;
  ~HostScope();

 private:
  friend class ThreadBudget;
  ThreadBudget* const budget_;
  const void* const user_;
  const HostScope* const outer_;  // which lent the lease
  const int threads_;
  const std::thread::id thread_ = std::this_thread::get_id();
  HostScope* next_ = nullptr;
  HostScope** link_ = nullptr;  // what points to this one
};

// Hands out the threads of one executor.
class ThreadBudget {
 public:
  explicit ThreadBudget(Executor& executor);
  ~ThreadBudget();

  int total() const { return total_; }
  // Returns a lease of 1 to `wanted` threads, fewer if others wait for some. Waits within `limits`
  // while none is free. In a function of the host they are those that its HostScope lends. `user`
  // is what they compute for, by which IsInside knows it.
  Result<Lease> Acquire(int wanted, const CallLimits& limits, const void* user = nullptr);
  // The same without waiting; returns false if no thread is free.
  bool TryAcquire(int wanted, const void* user, Lease* out);

  // Whether the calling thread is in a function of the host that a run of this budget has called.
  bool IsInside() const { return Innermost() != nullptr; }
  // The same for a run of `user`, which may have called it through runs of others.
  bool IsInside(const void* user) const;

 private:
  friend class HostScope;
  friend class Lease;
  int Take(int wanted, int sharers);
  Lease Make(int threads, const void* user, const HostScope* lender);
  void Release(int threads);
  const HostScope* Innermost() const;
  void Add(HostScope* scope);
  void Remove(HostScope* scope);

  struct Waiters;
  struct HostCode;
  Executor& executor_;
  const int total_;
  std::atomic<int> free_;
  std::atomic<int> scopes_{0};
  std::unique_ptr<Waiters> waiters_;
  std::unique_ptr<HostCode> host_code_;
};

}  // namespace hr
