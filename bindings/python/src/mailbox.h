// What threads of the library leave for Python.
#ifndef HEADRACE_PYTHON_MAILBOX_H_
#define HEADRACE_PYTHON_MAILBOX_H_

#include <nanobind/nanobind.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

namespace hr::python {

// Work that needs the interpreter's lock, from threads that must not wait for it: memory of Python
// that the library no longer uses, messages of the log. It is done soon, by the next thread that
// comes back from the library or by the main thread between two of its instructions. Thread-safe.
class Mailbox {
 public:
  // Does not take the interpreter's lock.
  void Post(std::function<void()> work);
  // Does the work, with the interpreter's lock held. An error that is set stays set.
  void Deliver() {
    if (filled_.load(std::memory_order_acquire)) DeliverAll();
  }
  // In the child of a fork: another thread may have had the mutex.
  void Forget();

 private:
  void DeliverAll();

  std::atomic<bool> filled_{false};
  std::mutex mutex_;
  std::vector<std::function<void()>> work_;
};

extern Mailbox mailbox;

}  // namespace hr::python

#endif  // HEADRACE_PYTHON_MAILBOX_H_
