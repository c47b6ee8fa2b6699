#include "gil.h"

#include <cxxabi.h>
#include <pthread.h>
#include <unistd.h>

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

// Up to Python 3.13, a thread that asks for the lock of an interpreter that ends is ended by
// pthread_exit, which must not unwind the frames of libheadrace. So it stays here; later versions
// of Python do the same by themselves.
template <class Take>
void TakeOrStay(Take take) {
  try {
    take();
  } catch (abi::__forced_unwind&) {
    for (;;) pause();
  }
}

}  // namespace

void WatchForks() { pthread_atfork(nullptr, nullptr, BeginChild); }

WithoutGil::~WithoutGil() {
  TakeOrStay([this] { PyEval_RestoreThread(state_); });
  mailbox.Deliver();
}

WithGil::WithGil() : ok_(!exiting) {
  if (ok_) TakeOrStay([this] { state_ = PyGILState_Ensure(); });
}

WithGil::~WithGil() {
  if (ok_) PyGILState_Release(state_);
}

}  // namespace hr::python
