#include "mailbox.h"

#include <new>

#include "gil.h"

namespace nb = nanobind;

namespace hr::python {

Mailbox mailbox;

void Mailbox::Post(std::function<void()> work) {
  bool first;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    first = work_.empty();
    work_.push_back(std::move(work));
    filled_.store(true, std::memory_order_release);
  }
  // If Python's own list is full, the next thread that comes back from the library does it.
  if (first && !exiting) {
    Py_AddPendingCall(
        [](void*) {
          mailbox.Deliver();
          return 0;
        },
        nullptr);
  }
}

void Mailbox::DeliverAll() {
  std::vector<std::function<void()>> work;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    work.swap(work_);
    filled_.store(false, std::memory_order_release);
  }
  nb::error_scope kept;
  for (auto& one : work) OrStay(one);
}

void Mailbox::Forget() {
  new (&mutex_) std::mutex;
  new (&work_) std::vector<std::function<void()>>;  // not destroyed: it may be half changed
  filled_.store(false);
}

}  // namespace hr::python
