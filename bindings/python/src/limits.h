// The limits of calls that wait: a timeout, a cancel token, and signals.
#ifndef HEADRACE_PYTHON_LIMITS_H_
#define HEADRACE_PYTHON_LIMITS_H_

#include <headrace/headrace.h>
#include <nanobind/nanobind.h>

#include <memory>

#include "errors.h"

namespace hr::python {

// Limits made of `timeout` (seconds, or None) and `cancel` (a token, or None). On the main thread
// they also let Python handle signals while the call waits, so that Ctrl-C ends it.
class Limits {
 public:
  Limits(nanobind::handle timeout, nanobind::handle cancel, const char* function);
  Limits(const Limits&) = delete;
  Limits& operator=(const Limits&) = delete;
  const hr_limits* get() const { return &limits_; }
  // Whether Python's signals are handled on this thread.
  bool watches() const { return limits_.interrupted != nullptr; }
  // Lets Python handle signals, with its lock held. Returns true if a handler has thrown, which is
  // kept for Check.
  bool HandleSignals();
  // Throws what a signal handler has thrown during the call (KeyboardInterrupt), if it was that
  // which ended the call with `status`; otherwise the failure. `status` may be NULL.
  void Check(hr_status* status);
  // Throws what a signal handler has thrown; for calls without a status.
  void Check();

 private:
  static int Interrupted(void* self);

  hr_limits limits_{};
  std::shared_ptr<hr_cancel> cancel_;
  nanobind::object exception_;
};

// Says that the calling thread is the one that handles signals. Called when the module is loaded,
// and in the child of a fork.
void SetMainThread();

}  // namespace hr::python

#endif  // HEADRACE_PYTHON_LIMITS_H_
