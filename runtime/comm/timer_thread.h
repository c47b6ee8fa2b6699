// The background thread of an env that carries heartbeats: it calls the timers of reactors, and
// does nothing else, so that no data and no sum makes it late.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/base/wake_event.h"

namespace hr::comm {

class Reactor;

class TimerThread {
 public:
  static Result<std::unique_ptr<TimerThread>> Create();
  ~TimerThread();

  // From now on the thread calls OnTimer() of the reactor's client.
  void Add(Reactor& reactor);
  // Ends that; waits for a call in progress.
  void Remove(Reactor& reactor);
  // Makes the thread look at its reactors again, because a timer is due earlier.
  void Kick() { wake_.Set(); }

 private:
  struct Entry {
    Reactor* reactor;
    int64_t due_at = 0;
  };

  explicit TimerThread(WakeEvent wake) : wake_(std::move(wake)) {}
  void Run();
  int64_t CallAll();

  const WakeEvent wake_;
  std::mutex mutex_;  // entries_; held while they are called
  std::vector<Entry> entries_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace hr::comm
