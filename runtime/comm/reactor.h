// Drives transports: serialises their calls, and decides which thread moves the bytes.
//
// Whoever waits drives. A waiting thread polls for a short while, because a peer usually answers
// within microseconds, and then sleeps on the transports' wait handles. While nobody waits, the
// Poller's thread (poller.h) does the same for all reactors of an env, and only it; it stays away
// as long as threads come to wait often, so that it does not compete with them for a core.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "runtime/base/cancel.h"
#include "runtime/base/function_ref.h"
#include "runtime/base/quick_mutex.h"
#include "runtime/comm/transport.h"
#include "runtime/comm/wake_event.h"

namespace hr::comm {

class Poller;

// Who uses the transports.
class ReactorClient {
 public:
  virtual ~ReactorClient() = default;
  // Goes on with what completed transfers made possible. Called after each progress with the
  // reactor locked; `moved`: that there was some. True if it did something.
  virtual bool Advance(bool moved) = 0;
  // Asks to be woken for what comes by no transport. Called before a sleep with the reactor locked.
  // False where there is something to do already.
  virtual bool Arm() { return true; }
  // Calls back whoever asked to be. Called after Advance(), unlocked, perhaps by several threads.
  virtual void Deliver() = 0;
  // Something that is due at times (heartbeats). Called unlocked on the Poller's thread; returns
  // when it wants to be called next, in nanoseconds of SystemClock(), INT64_MAX for never.
  virtual int64_t OnTimer(int64_t now) = 0;
};

class Reactor {
 public:
  // `transports` and `client` outlive the reactor.
  static Result<std::unique_ptr<Reactor>> Create(std::vector<Transport*> transports,
                                                 ReactorClient& client);
  ~Reactor();

  // Holds the reactor locked: the transports, and whatever the client guards with it, may be used.
  // Sees to it that sleepers notice what was started meanwhile.
  class Guard {
   public:
    explicit Guard(Reactor& reactor);
    ~Guard();

   private:
    Reactor& reactor_;
  };

  // Drives until `done` is true (which Advance, or a thread that calls NoteCompletion after it, has
  // set). Any number of threads may wait.
  Status Wait(const std::atomic<bool>& done, const CallLimits& limits);
  // One round. Returns without doing anything where another thread is at it. True if anything
  // moved.
  bool Turn();
  // Asks `done`, with the reactor locked, until it is true, and drives now and then; but only until
  // something moves, and for some microseconds, in which nothing ends it early. Whether it was
  // true.
  bool Poll(FunctionRef<bool()> done);
  // To be called whenever something that somebody may wait for has become true.
  void NoteCompletion();
  // The same, with the reactor locked since before it became true.
  void NoteCompletionLocked();

  // Has whoever sleeps on the handles look again: a turn may have taken what it waits for.
  void Rouse();
  // Has the Poller call the client's OnTimer() soon. For the client, with the reactor locked or
  // not.
  void CallTimer();
  // From now on the Poller leaves it alone; waits for a call in progress.
  void LeavePoller();

  // How long a waiting thread polls before it sleeps. 0 where ranks outnumber cores: then it gives
  // its core away between two looks, since the peer may need it.
  void set_spin_nanos(int64_t nanos) { spin_nanos_.store(nanos, std::memory_order_relaxed); }

 private:
  friend class Poller;
  class Waiting;
  Reactor(std::vector<Transport*> transports, ReactorClient& client, WakeEvent wake);

  bool TurnLocked();
  bool ArmLocked();
  bool Spin(const std::atomic<bool>& done, const CallLimits& limits);
  void Sleep(const std::atomic<bool>& done, const CallLimits& limits);
  void SleepOnHandles(const std::atomic<bool>& done, const CallLimits& limits);
  void RouseAfterLock();

  const std::vector<Transport*> transports_;
  ReactorClient& client_;
  QuickMutex mutex_;
  std::atomic<int> posters_{0};  // threads that want mutex_ to start something
  std::atomic<int> waiters_{0};
  std::atomic<uint64_t> waits_{0};  // ever begun
  std::atomic<int64_t> spin_nanos_;

  // Sleeping. One thread sleeps on the handles, holding the right to; others on the condition.
  std::mutex handles_right_;
  WakeEvent wake_;
  std::vector<int> handles_;  // to sleep on
  std::atomic<bool> asleep_{false};
  std::mutex sleepers_mutex_;
  std::condition_variable sleepers_;
  std::atomic<int> sleeper_count_{0};

  std::atomic<Poller*> poller_{nullptr};
  std::atomic<bool> timer_due_{false};
  std::atomic<bool> watched_{false};  // the Poller sleeps on our armed handles
};

}  // namespace hr::comm
