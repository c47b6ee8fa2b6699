// Many readers or one writer, waiting within limits. std::shared_mutex cannot be cancelled.
#pragma once

#include <atomic>

#include "runtime/base/wait_point.h"

namespace hr::session {

class RunLock {
 public:
  Status Lock(bool exclusive, const CallLimits& limits);
  void Unlock(bool exclusive);

 private:
  bool TryLock(bool exclusive);

  std::atomic<int> state_{0};            // readers, or -1 for a writer
  std::atomic<int> waiting_writers_{0};  // readers let them go first
  std::atomic<int> waiting_{0};
  WaitPoint changed_;
};

// Holds a RunLock for a scope.
class RunGuard {
 public:
  static Result<RunGuard> Take(RunLock& lock, bool exclusive, const CallLimits& limits) {
    HR_RETURN_IF_ERROR(lock.Lock(exclusive, limits));
    return RunGuard(lock, exclusive);
  }
  RunGuard(RunGuard&& other) noexcept
      : lock_(std::exchange(other.lock_, nullptr)), exclusive_(other.exclusive_) {}
  RunGuard& operator=(RunGuard&&) = delete;
  ~RunGuard() {
    if (lock_ != nullptr) lock_->Unlock(exclusive_);
  }

 private:
  RunGuard(RunLock& lock, bool exclusive) : lock_(&lock), exclusive_(exclusive) {}
  RunLock* lock_;
  bool exclusive_;
};

}  // namespace hr::session
