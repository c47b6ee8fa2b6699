#include "runtime/base/wait_point.h"

#include <algorithm>

namespace hr {
namespace {

constexpr int64_t kLongestSleep = 3'600'000'000'000;  // far from overflow
// A host's clock may jump, so it is looked at again and again.
constexpr int64_t kHostClockSleep = 5'000'000;

}  // namespace

void WaitPoint::NotifyAll() {
  { std::lock_guard lock(mutex_); }  // whoever has just looked is asleep now
  changed_.notify_all();
}

void WaitPoint::Sleep(std::unique_lock<std::mutex>& lock, const CallLimits& limits) {
  if (limits.clock == nullptr) return changed_.wait(lock);
  int64_t most = limits.clock == &SystemClock() ? kLongestSleep : kHostClockSleep;
  int64_t left = limits.deadline_nanos - limits.clock->NowNanos();
  changed_.wait_for(lock, std::chrono::nanoseconds(std::clamp<int64_t>(left, 0, most)));
}

}  // namespace hr
