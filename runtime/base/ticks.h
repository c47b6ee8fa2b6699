// Time stamps that cost less than reading the clock, for what is noted often and seldom looked at.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/base/cancel.h"

namespace hr {

// Reads the processor's counter if it runs evenly, else SystemClock(). Thread-safe.
class TickCounter {
 public:
  TickCounter();

  uint64_t Now() const {
#if defined(__x86_64__)
    if (counts_) return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#endif
    return static_cast<uint64_t>(SystemClock().NowNanos());
  }

  // The readings of both when the counter was made.
  uint64_t began() const { return ticks_; }
  int64_t began_nanos() const { return nanos_; }

  // Turns what Now() has returned into nanoseconds of SystemClock(), by two readings of both. Order
  // is kept.
  class Scale {
   public:
    Scale(uint64_t ticks, int64_t nanos, uint64_t later_ticks, int64_t later_nanos)
        : ticks_(ticks),
          nanos_(nanos),
          nanos_per_tick_(later_ticks == ticks ? 1
                                               : static_cast<double>(later_nanos - nanos) /
                                                     static_cast<double>(later_ticks - ticks)) {}
    int64_t Nanos(uint64_t ticks) const {
      constexpr double kMost = 4e18;  // what is beyond makes no sense
      const auto since = static_cast<double>(static_cast<int64_t>(ticks - ticks_));
      return nanos_ + static_cast<int64_t>(std::clamp(since * nanos_per_tick_, -kMost, kMost));
    }

   private:
    uint64_t ticks_;
    int64_t nanos_;
    double nanos_per_tick_;
  };
  // By now and when the counter was made.
  Scale ScaleNow() const;

 private:
  bool counts_ = false;
  uint64_t ticks_;  // when it was made
  int64_t nanos_;
};

}  // namespace hr
