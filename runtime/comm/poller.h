// The background threads of an env for communication: one drives the reactors for which no thread
// waits, another one calls their timers (TimerThread). While something is in flight there, the
// first looks again for 50 us after the last data, and then it sleeps until something comes, as it
// does if nothing is in flight.
#pragma once

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/base/executor.h"
#include "runtime/base/worker_threads.h"
#include "runtime/comm/reactor.h"
#include "runtime/comm/timer_thread.h"

namespace hr::comm {

class Poller {
 public:
  // `threads`: for what the poller's own thread must not wait for. `budget`: that of the threads
  // that compute, of which the poller's is one while it sums; it outlives the poller; null: none.
  static Result<std::unique_ptr<Poller>> Create(
      std::shared_ptr<WorkerThreads> threads = std::make_shared<WorkerThreads>(),
      ThreadBudget* budget = nullptr);
  // Must be destroyed after all its reactors.
  ~Poller();

  // From now on the poller drives `reactor` and calls its timer. The reactor's destructor removes
  // it, after a call in progress.
  void Add(Reactor& reactor);
  void Remove(Reactor& reactor);
  // Makes the thread look at its reactors again, because one of them has been taken over by a
  // thread.
  void Kick() { wake_.Set(); }
  TimerThread& timers() { return *timers_; }
  // Returns a lease for a sum of the calling thread: over one thread of the budget, if the poller
  // calls and one is free. A run that holds all may wait for this very sum, and a thread that waits
  // is counted already, or the host's.
  Lease LeaseForSum();
  const std::shared_ptr<WorkerThreads>& threads() const { return threads_; }

 private:
  struct Entry {
    Reactor* reactor;
    uint64_t waits = 0;      // as last seen
    int64_t look_at = 0;     // the next look; INT64_MAX: when something comes, or it is told to
    int64_t spin_until = 0;  // 0: it has not begun to spin
  };

  Poller(WakeEvent wake, std::unique_ptr<TimerThread> timers,
         std::shared_ptr<WorkerThreads> threads, ThreadBudget* budget);
  void Run();
  void Sleep(int64_t until);
  int64_t LookAtAll();
  void Look(Entry& entry, int64_t now);
  void StayAway(Entry& entry, int64_t now, bool fresh);
  void Drive(Entry& entry, int64_t now);

  WakeEvent wake_;
  std::mutex mutex_;  // entries_; held while they are driven
  std::vector<Entry> entries_;
  std::vector<int> handles_;  // to sleep on; used by the thread alone
  std::atomic<bool> stop_{false};
  const std::shared_ptr<WorkerThreads> threads_;
  ThreadBudget* const budget_;
  const std::unique_ptr<TimerThread> timers_;
  std::thread thread_;
};

}  // namespace hr::comm
