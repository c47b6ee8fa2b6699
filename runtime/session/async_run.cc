#include "runtime/session/async_run.h"

#include "runtime/base/errors.h"
#include "runtime/session/call.h"

namespace hr::session {

AsyncRun::AsyncRun(std::shared_ptr<Call> call, const CallLimits& limits,
                   std::shared_ptr<const CancelToken> token)
    : call_(std::move(call)),
      callbacks_(call_->session().env().callbacks()),
      limits_(limits),
      token_(std::move(token)) {
  outer_cancel_.emplace(
      limits.cancel, [](void* self) { static_cast<AsyncRun*>(self)->Cancel(); }, this);
  if (limits.cancel != nullptr && limits.cancel->cancelled()) Cancel();
  limits_.cancel = &cancel_;
  limits_.interrupted = nullptr;
}

bool AsyncRun::done() {
  std::lock_guard lock(ended_.mutex());
  return done_;
}

Status AsyncRun::CheckWaiter() {
  std::lock_guard lock(ended_.mutex());
  if (call_ == nullptr || !call_->session().env().threads().IsInside()) return {};
  return FailedPrecondition(
      "waiting for a run that goes on in the background, in a function of the host inside another "
      "run of its env, might last forever, because that run has the threads; run the call there "
      "without hr_call_start, or wait after the run");
}

Status AsyncRun::Wait(const CallLimits& limits) {
  HR_RETURN_IF_ERROR(CheckWaiter());
  HR_RETURN_IF_ERROR(ended_.Wait(limits, [this] { return done_; }));
  return status_.Clone();
}

void AsyncRun::OnDone(Callback callback) {
  {
    std::lock_guard lock(ended_.mutex());
    if (!done_) {
      listeners_.push_back(std::move(callback));
      return;
    }
  }
  callback(status_);
}

void AsyncRun::Execute() {
  Status status = call_->Run(limits_);
  outer_cancel_.reset();
  token_.reset();
  call_->Leave();
  std::shared_ptr<Call> call;
  {
    std::lock_guard lock(ended_.mutex());
    call.swap(call_);
  }
  call.reset();  // whoever waits may take it that nothing of the run is left
  std::vector<Callback> listeners;
  {
    std::lock_guard lock(ended_.mutex());
    status_ = std::move(status);
    done_ = true;
    listeners.swap(listeners_);
  }
  ended_.NotifyAll();
  for (const Callback& callback : listeners) callback(status_);
}

}  // namespace hr::session
