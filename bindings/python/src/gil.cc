#include "gil.h"

#include <pthread.h>

#include "limits.h"
#include "mailbox.h"

namespace hr::python {

bool exiting = false;
unsigned fork_count = 0;

namespace {

// The thread that forks is the child's main thread; what others were about to do is lost.
void BeginChild() {
  ++fork_count;
  mailbox.Forget();
  SetMainThread();
}

}  // namespace

void WatchForks() { pthread_atfork(nullptr, nullptr, BeginChild); }

WithoutGil::~WithoutGil() {
  OrStay([this] { PyEval_RestoreThread(state_); });
  mailbox.Deliver();
}

WithGil::WithGil() : ok_(!exiting) {
  if (ok_) OrStay([this] { state_ = PyGILState_Ensure(); });
}

WithGil::~WithGil() {
  if (ok_) PyGILState_Release(state_);
}

}  // namespace hr::python
