// How runs of a session begin: with its run lock and with threads.
#include "runtime/base/errors.h"
#include "runtime/session/session.h"

namespace hr::session {
namespace {

Literal RunText(bool exclusive) {
  return exclusive ? Literal("a run that writes variables") : Literal("a run");
}

}  // namespace

Result<RunGuard> Session::Lock(Literal what, bool exclusive, const CallLimits& limits) {
  if (run_lock_.TryLock(exclusive)) return RunGuard(run_lock_, exclusive);
  return LockAmongOthers(what, exclusive, limits);
}

Result<RunGuard> Session::LockAmongOthers(Literal what, bool exclusive, const CallLimits& limits) {
  const ThreadBudget& threads = env().threads();
  // Writers that wait for the run around a function of the host do not hold up what it asks for.
  const bool urgent = threads.IsInside();
  if (urgent && run_lock_.TryLock(exclusive, urgent)) return RunGuard(run_lock_, exclusive);
  if (urgent && threads.IsInside(this)) {
    return FailedPrecondition(
        what, " in a function of the host inside a run of the same session, which ",
        run_lock_.held_exclusively() ? Literal("writes") : Literal("reads"),
        " variables, would wait for that run forever; do it after the run, or in another session");
  }
  HR_RETURN_IF_ERROR(run_lock_.Lock(exclusive, limits, urgent));
  return RunGuard(run_lock_, exclusive);
}

// A run that waits for threads does not hold the lock meanwhile: the run that has the threads may
// want the lock, in a function of the host.
Status Session::Admit(bool exclusive, const CallLimits& limits, Admission* out) {
  ThreadBudget& budget = env().threads();
  while (true) {
    HR_ASSIGN_OR_RETURN(out->lock, Lock(RunText(exclusive), exclusive, limits));
    HR_RETURN_IF_ERROR(CheckUsable());
    if (budget.TryAcquire(budget.total(), this, &out->threads)) return {};
    out->lock = {};
    HR_ASSIGN_OR_RETURN(out->threads, budget.Acquire(budget.total(), limits, this));
    if (run_lock_.TryLock(exclusive)) {
      out->lock = RunGuard(run_lock_, exclusive);
      return CheckUsable();
    }
    out->threads = {};
  }
}

Status Session::Enter(const transform::Request& request, const CallLimits& limits, PlanAt* at,
                      Admission* out) {
  while (true) {
    HR_ASSIGN_OR_RETURN(*at, Prepare(request));
    HR_RETURN_IF_ERROR(Admit(at->plan->exclusive(), limits, out));
    if (Fits(*at->plan)) return {};
    *out = {};
  }
}

}  // namespace hr::session
