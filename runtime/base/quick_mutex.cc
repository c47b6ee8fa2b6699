#include "runtime/base/quick_mutex.h"

namespace hr {

// Whoever was woken cannot know whether others still wait, so it leaves kWanted.
void QuickMutex::Wait() {
  std::unique_lock lock(waiting_);
  while (state_.exchange(kWanted, std::memory_order_acquire) != kFree) freed_.wait(lock);
}

// A thread that has set kWanted waits by the time `waiting_` can be had.
void QuickMutex::Wake() {
  std::lock_guard lock(waiting_);
  freed_.notify_one();
}

}  // namespace hr
