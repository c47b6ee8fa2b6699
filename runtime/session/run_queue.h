// Runs that go on by themselves, on threads of the env.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/base/wait_point.h"

namespace hr::session {

class Call;

// One run in flight, or ended. Thread-safe.
class AsyncRun {
 public:
  using Callback = std::function<void(const Status& status)>;

  // `limits` count from now; `token` is theirs, or null. The host is not asked whether it wants to
  // interrupt the run.
  AsyncRun(std::shared_ptr<Call> call, const CallLimits& limits,
           std::shared_ptr<const CancelToken> token);

  bool done();
  // Waits for the end and returns how it ended; `limits` end the waiting only.
  Status Wait(const CallLimits& limits);
  // Calls `callback` once when it has ended, at once where it has, on the thread that ran it.
  void OnDone(Callback callback);
  void Cancel() { cancel_.Cancel(); }

  // Runs, on the calling thread.
  void Execute();

 private:
  std::shared_ptr<Call> call_;  // until the end
  CallLimits limits_;
  std::shared_ptr<const CancelToken> token_;  // the caller's, until the end
  CancelToken cancel_;
  std::optional<CancelWake> outer_cancel_;  // passes that on
  WaitPoint ended_;
  bool done_ = false;
  Status status_;
  std::vector<Callback> listeners_;
};

// Threads start when they are needed, up to a number, and wait for more until the queue goes.
class RunQueue {
 public:
  explicit RunQueue(int max_threads);
  // What was added has ended, since runs keep their env. May be called by one of the threads.
  ~RunQueue();
  RunQueue(const RunQueue&) = delete;

  void Add(std::shared_ptr<AsyncRun> run);

 private:
  struct State;
  static void Work(std::shared_ptr<State> state);

  const size_t max_threads_;
  std::shared_ptr<State> state_;  // the threads' too, one of which may outlive the queue
};

}  // namespace hr::session
