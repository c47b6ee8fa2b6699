// Runs that go on by themselves, on a thread of the env.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/base/wait_point.h"
#include "runtime/base/worker_threads.h"

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
  // Waits for the end and returns how it ended; `limits` end the waiting only. A failure in a
  // function of the host inside another run of the env, unless it has ended.
  Status Wait(const CallLimits& limits);
  // Calls `callback` once when it has ended, on the thread that ran it; if it has ended already, at
  // once. The callback must not wait.
  void OnDone(Callback callback);
  // The threads of the env that call functions of the host.
  const std::shared_ptr<WorkerThreads>& callbacks() const { return callbacks_; }
  void Cancel() { cancel_.Cancel(); }

  // Runs, on the calling thread.
  void Execute();

 private:
  Status CheckWaiter();

  std::shared_ptr<Call> call_;  // until the end
  const std::shared_ptr<WorkerThreads> callbacks_;
  CallLimits limits_;
  std::shared_ptr<const CancelToken> token_;  // the caller's, until the end
  CancelToken cancel_;
  std::optional<CancelWake> outer_cancel_;  // passes that on
  WaitPoint ended_;
  bool done_ = false;
  Status status_;
  std::vector<Callback> listeners_;
};

}  // namespace hr::session
