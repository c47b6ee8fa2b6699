// Drives transports: serialises their calls, and decides which thread moves the bytes.
//
// A thread that waits drives. It polls for a short while, because a peer usually answers within
// microseconds, and then sleeps on the transports' wait handles. While no thread waits, the thread
// of the Poller (poller.h) drives all reactors of an env. It stays away while threads wait
// frequently, so that it does not compete with them for a core, but never while there is something
// in flight that no thread waits for.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "runtime/base/cancel.h"
#include "runtime/base/function_ref.h"
#include "runtime/base/quick_mutex.h"
#include "runtime/base/wake_event.h"
#include "runtime/comm/transport.h"

namespace hr::comm {

class Poller;

// The user of the transports.
class ReactorClient {
 public:
  virtual ~ReactorClient() = default;
  // Continues what completed transfers have made possible. Called after each progress with the
  // reactor locked; `moved`: data has moved. Returns whether it did something.
  virtual bool Advance(bool moved) = 0;
  // Asks to be woken for events that come by no transport, such as in shared memory. Called before
  // a sleep with the reactor locked. Returns false if there is something to do already.
  virtual bool Arm() { return true; }
  // Calls the callbacks that are due. Called after Advance(), unlocked, perhaps by several threads
  // at a time.
  virtual void Deliver() = 0;
  // Does what is due at times (heartbeats). Called unlocked on a thread that never waits for data
  // or sums. Returns the time of the next call, in nanoseconds of SystemClock(); INT64_MAX: never.
  virtual int64_t OnTimer(int64_t now) = 0;
};

class Reactor {
 public:
  // `transports` and `client` must outlive the reactor; the event is its own.
  Reactor(std::vector<Transport*> transports, ReactorClient& client, WakeEvent wake);
  static Result<std::unique_ptr<Reactor>> Create(std::vector<Transport*> transports,
                                                 ReactorClient& client);
  ~Reactor();

  // Locks the reactor, so that the transports, and what the client guards with it, may be used. At
  // its end it wakes sleepers for what was started meanwhile.
  class Guard {
   public:
    explicit Guard(Reactor& reactor);
    ~Guard();

   private:
    Reactor& reactor_;
  };

  // Drives until `done` is true. Advance sets it, or a thread that then calls NoteCompletion. Any
  // number of threads may wait.
  Status Wait(const std::atomic<bool>& done, const CallLimits& limits);
  // Drives one round, unless another thread is driving. Returns whether anything moved. If nothing
  // did, whoever sleeps on the handles sleeps on; else the caller turns again, or rouses them.
  bool Turn();
  // Says that the thread turns the reactor between other things, soon and often: it counts as one
  // that comes to wait.
  void Visit() { waits_.fetch_add(1, std::memory_order_relaxed); }
  // Calls `done`, with the reactor locked, until it is true, and drives now and then; but only
  // until something moves, and for some microseconds. Limits do not end it. Returns the last result
  // of `done`.
  bool Poll(FunctionRef<bool()> done);
  // Must be called whenever a condition for which a thread may wait has become true.
  void NoteCompletion();
  // The same, with the reactor locked since before it became true.
  void NoteCompletionLocked();

  // Counts what is in flight and may have no thread that waits for it, which the Poller then
  // drives.
  void BeginUnattended() { unattended_.fetch_add(1); }
  void EndUnattended() { unattended_.fetch_sub(1); }

  // Wakes the thread that sleeps on the handles, because a turn may have taken what it waits for.
  void Rouse();
  // Takes what has come, for the next turn to deal with. The caller has the reactor locked.
  void ReceiveLocked();
  // Calls `compute` with the reactor unlocked meanwhile. For the client, in Advance() or with the
  // reactor locked by itself: other threads may drive until it returns.
  void Unlocked(FunctionRef<void()> compute);
  // Makes the Poller call the client's OnTimer() soon. Called by the client, with the reactor
  // locked or not.
  void CallTimer();
  // Removes the reactor from the Poller; waits for a call in progress.
  void LeavePoller();

  // Sets how long a waiting thread polls before it sleeps. 0, for more ranks than cores: it yields
  // its core between two looks, because the peer may need it.
  void set_spin_nanos(int64_t nanos) { spin_nanos_.store(nanos, std::memory_order_relaxed); }

 private:
  friend class Poller;
  friend class TimerThread;
  class Waiting;

  // What the Poller does about this reactor.
  enum class Watch {
    kDrives,  // or will soon, by itself
    kSleeps,  // on the armed handles, and must be told if something is started or disarms them
    kAway,    // for a millisecond, because threads come to wait
    kGone,    // until the thread that waits leaves
  };

  bool TurnLocked();
  // Turn(); `rearm`: what it disarms for those who sleep.
  bool TryTurn(bool rearm);
  bool ArmLocked();
  bool IsLeftAlone() const { return waiters_.load() == 0 && unattended_.load() > 0; }
  void CallPoller(Watch seen);
  void LeaveToPoller();
  bool Spin(const std::atomic<bool>& done, const CallLimits& limits);
  void Sleep(const std::atomic<bool>& done, const CallLimits& limits);
  void SleepOnHandles(const std::atomic<bool>& done, const CallLimits& limits);
  void RouseAfterLock();

  const std::vector<Transport*> transports_;
  ReactorClient& client_;
  QuickMutex mutex_;
  std::atomic<int> posters_{0};  // threads that want mutex_ to start something
  std::atomic<int> waiters_{0};
  std::atomic<uint64_t> waits_{0};  // ever begun, and visits
  bool received_ = false;           // ReceiveLocked() has moved something
  std::atomic<int> unattended_{0};
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
  std::atomic<Watch> watch_{Watch::kDrives};
};

}  // namespace hr::comm
