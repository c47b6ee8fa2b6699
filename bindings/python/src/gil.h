// Leaving and taking the interpreter's lock.
#ifndef HEADRACE_PYTHON_GIL_H_
#define HEADRACE_PYTHON_GIL_H_

#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <unistd.h>

#include <utility>

namespace hr::python {

// Both say whether Python can still be called. `exiting` is set by a function that `atexit` calls;
// `fork_count` grows in every child of a fork, and objects of the parent are of no use there.
extern bool exiting;
extern unsigned fork_count;

// Begins to count forks.
void WatchForks();

// The lock is free for the lifetime of this object. If the interpreter ends meanwhile, a thread
// other than its own waits for ever instead of being unwound through frames of C++.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

// The lock is held for the lifetime of this object, on any thread. `ok` is false if the interpreter
// ends, so that nothing of Python may be called.
class WithGil {
 public:
  WithGil();
  ~WithGil();
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;
  bool ok() const { return ok_; }

 private:
  bool ok_;
  PyGILState_STATE state_{};
};

// Calls a function that calls Python. Up to Python 3.13, a thread that wants the lock of an
// interpreter that ends is ended by pthread_exit, which must not unwind frames of C++ that expect
// no exception. So it stays here for ever; later versions of Python do the same by themselves.
template <class Call>
void OrStay(Call&& call) {
  try {
    call();
  } catch (abi::__forced_unwind&) {
    for (;;) pause();
  }
}

// Returns what `call` returns; the lock is free meanwhile.
template <class Call>
auto Released(Call&& call) {
  WithoutGil without;
  return std::forward<Call>(call)();
}

}  // namespace hr::python

#endif  // HEADRACE_PYTHON_GIL_H_
