// Cancellation and deadlines, which every call that can wait takes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "runtime/base/errors.h"

namespace hr {

// Nanoseconds on the monotonic clock; the host may inject its own (capi).
class Clock {
 public:
  virtual int64_t NowNanos() const = 0;

 protected:
  ~Clock() = default;  // trivial: the system's own lives without code before main
};
const Clock& SystemClock();

// Set once from any thread, read by any number of waiting calls. Must outlive them.
class CancelToken {
 public:
  void Cancel() { cancelled_.store(true, std::memory_order_release); }
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> cancelled_{false};
};

// What limits one call. Copied freely; the default limits nothing.
struct CallLimits {
  const CancelToken* cancel = nullptr;
  int64_t deadline_nanos = INT64_MAX;  // on `clock`
  const Clock* clock = nullptr;        // null: no deadline

  // OK, CANCELLED or DEADLINE_EXCEEDED. Cheap: reads the clock only where there is a deadline.
  Status Check() const {
    if (cancel != nullptr && cancel->cancelled()) return Cancelled("the call was cancelled");
    if (clock != nullptr && clock->NowNanos() >= deadline_nanos) {
      return DeadlineExceeded("the call's deadline passed");
    }
    return {};
  }
};

}  // namespace hr
