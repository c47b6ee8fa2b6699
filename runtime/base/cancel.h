// Cancellation and deadlines, which every call that can wait takes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

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

class CancelWake;

// Set once from any thread, read by any number of waiting calls. Must outlive them.
class CancelToken {
 public:
  // Also wakes those who wait with a CancelWake.
  void Cancel();
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }

 private:
  friend class CancelWake;
  std::atomic<bool> cancelled_{false};
  mutable std::mutex mutex_;  // guards the list
  mutable CancelWake* first_ = nullptr;
};

// As long as it lives, cancelling the token calls wake(context). Who makes one looks at cancelled()
// afterwards, since the token may have been cancelled before. Allocates nothing.
//
// `wake` runs on the cancelling thread under the token's lock: whatever lock it takes must not be
// held while a CancelWake of that token is made or ends. Ending waits until a call in progress is
// over, so `context` may go afterwards.
class CancelWake {
 public:
  // A null token is never cancelled.
  CancelWake(const CancelToken* token, void (*wake)(void* context), void* context);
  CancelWake(const CancelWake&) = delete;
  CancelWake& operator=(const CancelWake&) = delete;
  ~CancelWake();

 private:
  friend class CancelToken;
  const CancelToken* const token_;
  void (*const wake_)(void* context);
  void* const context_;
  CancelWake* next_ = nullptr;
  CancelWake** link_ = nullptr;  // what points to this one
};

// What limits one call. Copied freely; the default limits nothing. With `interrupted` it is used by
// the calling thread alone.
struct CallLimits {
  const CancelToken* cancel = nullptr;
  int64_t deadline_nanos = INT64_MAX;           // on `clock`
  const Clock* clock = nullptr;                 // null: no deadline
  int (*interrupted)(void* context) = nullptr;  // whether the host wants the call to end
  void* context = nullptr;
  mutable int64_t ask_nanos = 0;  // when the host is asked next, on the system's clock

  // OK, CANCELLED or DEADLINE_EXCEEDED. Cheap: reads a clock only if there is a deadline or a host
  // to be asked, which is done every 50 ms.
  Status Check() const {
    HR_RETURN_IF_ERROR(CheckUnasked());
    return interrupted == nullptr ? Status() : AskHost();
  }
  // The same in two parts, for those who hold a lock, which the host may need for its answer.
  Status CheckUnasked() const {
    if (cancel != nullptr && cancel->cancelled()) return Cancelled("the call was cancelled");
    if (clock != nullptr && clock->NowNanos() >= deadline_nanos) {
      return DeadlineExceeded("the call's deadline passed");
    }
    return {};
  }
  bool MustAsk() const;    // now
  Status AskHost() const;  // if it must; there is a host to be asked
  // How long to sleep before the next Check: `most` nanoseconds or less.
  int64_t SleepNanos(int64_t most) const;
};
inline constexpr CallLimits kNoLimits;

}  // namespace hr
