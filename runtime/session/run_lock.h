// Many readers or one writer, waiting within limits. std::shared_mutex cannot be cancelled.
#pragma once

#include <atomic>

#include "runtime/base/wait_point.h"

namespace hr::session {

class RunLock {
 public:
  // With `urgent`, a reader does not let waiting writers go first: they may wait for it.
  Status Lock(bool exclusive, const CallLimits& limits, bool urgent = false);
  bool TryLock(bool exclusive, bool urgent = false);
  void Unlock(bool exclusive);
  bool held_exclusively() const { return state_.load(std::memory_order_relaxed) < 0; }

 private:
  std::atomic<int> state_{0};            // readers, or -1 for a writer
  std::atomic<int> waiting_writers_{0};  // readers let them go first
  std::atomic<int> waiting_{0};
  WaitPoint changed_;
};

// Holds a RunLock for a scope, or nothing.
class RunGuard {
 public:
  RunGuard() = default;
  // The lock is held, and is given back by this from now on.
  RunGuard(RunLock& lock, bool exclusive) : lock_(&lock), exclusive_(exclusive) {}
  RunGuard(RunGuard&& other) noexcept
      : lock_(std::exchange(other.lock_, nullptr)), exclusive_(other.exclusive_) {}
  RunGuard& operator=(RunGuard&& other) noexcept {
    if (this == &other) return *this;
    if (lock_ != nullptr) lock_->Unlock(exclusive_);
    lock_ = std::exchange(other.lock_, nullptr);
    exclusive_ = other.exclusive_;
    return *this;
  }
  ~RunGuard() {
    if (lock_ != nullptr) lock_->Unlock(exclusive_);
  }

 private:
  RunLock* lock_ = nullptr;
  bool exclusive_ = false;
};

}  // namespace hr::session
