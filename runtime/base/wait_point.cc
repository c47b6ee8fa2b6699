#include "runtime/base/wait_point.h"

namespace hr {
namespace {

constexpr int64_t kLongestSleep = 3'600'000'000'000;  // far from overflow

}  // namespace

void WaitPoint::NotifyAll() {
  { std::lock_guard lock(mutex_); }  // whoever has just looked is asleep now
  changed_.notify_all();
}

void WaitPoint::Sleep(std::unique_lock<std::mutex>& lock, const CallLimits& limits) {
  if (limits.clock == nullptr && limits.interrupted == nullptr) return changed_.wait(lock);
  changed_.wait_for(lock, std::chrono::nanoseconds(limits.SleepNanos(kLongestSleep)));
}

}  // namespace hr
