// A mutex for what is locked very often and hardly ever by two threads at once: without contention,
// locking and unlocking are one atomic exchange each, in place. As std::mutex otherwise, but it
// must outlive every call of unlock().
//
// The states are those of the second mutex in U. Drepper, "Futexes Are Tricky" (2011).
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace hr {

class QuickMutex {
 public:
  QuickMutex() = default;
  QuickMutex(const QuickMutex&) = delete;

  bool try_lock() {
    State free = kFree;
    return state_.compare_exchange_strong(free, kHeld, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  void lock() {
    if (!try_lock()) Wait();
  }
  void unlock() {
    if (state_.exchange(kFree, std::memory_order_release) == kWanted) Wake();
  }

 private:
  enum State : int { kFree, kHeld, kWanted };  // kWanted: held, and somebody may wait

  void Wait();
  void Wake();

  std::atomic<State> state_{kFree};
  std::mutex waiting_;
  std::condition_variable freed_;
};

}  // namespace hr
