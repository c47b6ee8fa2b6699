// Waiting until another thread brings something about, or a cancel token or a deadline ends it.
//
//   WaitPoint changed;
//   // who waits:                                  // who changes:
//   changed.Wait(limits, [&] { return ready; });   { std::lock_guard lock(changed.mutex());
//                                                    ready = true; }
//                                                  changed.NotifyAll();
#pragma once

#include <condition_variable>
#include <mutex>

#include "runtime/base/cancel.h"

namespace hr {

class WaitPoint {
 public:
  // Guards what `ready` looks at. Must not be held when Wait or NotifyAll is called.
  std::mutex& mutex() { return mutex_; }

  // Returns as soon as ready(), called under the mutex, is true; else with the failure of `limits`.
  // The host is asked without the mutex, because it may run what notifies this.
  template <typename Ready>
  Status Wait(const CallLimits& limits, Ready&& ready) {
    CancelWake wake(limits.cancel, &WaitPoint::Wake, this);
    std::unique_lock lock(mutex_);
    while (!ready()) {
      HR_RETURN_IF_ERROR(limits.CheckUnasked());
      if (!limits.MustAsk()) {
        Sleep(lock, limits);
        continue;
      }
      lock.unlock();
      HR_RETURN_IF_ERROR(limits.AskHost());
      lock.lock();
    }
    return {};
  }

  // Makes everybody who waits look again.
  void NotifyAll();

 private:
  static void Wake(void* self) { static_cast<WaitPoint*>(self)->NotifyAll(); }
  void Sleep(std::unique_lock<std::mutex>& lock, const CallLimits& limits);

  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace hr
