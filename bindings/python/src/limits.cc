#include "limits.h"

#include <cmath>

#include "convert.h"
#include "gil.h"
#include "objects.h"

namespace nb = nanobind;

namespace hr::python {
namespace {

unsigned long main_thread = 0;

// At least one nanosecond: 0 would mean that there is no deadline.
int64_t Nanos(nb::handle timeout, Where where) {
  if (timeout.is_none()) return 0;
  const double seconds = ToDouble(timeout, where);
  if (std::isnan(seconds)) Throw(HR_INVALID_ARGUMENT, "'timeout' is not a number");
  if (seconds > 9e9) return 0;  // three centuries
  return seconds > 0 ? static_cast<int64_t>(std::ceil(seconds * 1e9)) : 1;
}

}  // namespace

void SetMainThread() { main_thread = PyThread_get_thread_ident(); }

Limits::Limits(nb::handle timeout, nb::handle cancel, const char* function) {
  limits_.struct_size = sizeof limits_;
  limits_.timeout_nanos = Nanos(timeout, {function, "timeout"});
  cancel_ = BorrowOrNull<hr_cancel>(cancel, {function, "cancel"});
  limits_.cancel = cancel_.get();
  if (PyThread_get_thread_ident() != main_thread) return;
  limits_.interrupted = Interrupted;
  limits_.context = this;
}

int Limits::Interrupted(void* self) {
  WithGil with;
  return with.ok() && static_cast<Limits*>(self)->HandleSignals() ? 1 : 0;
}

bool Limits::HandleSignals() {
  if (PyErr_CheckSignals() == 0) return false;
  try {
    nb::raise_python_error();
  } catch (nb::python_error& error) {
    exception_ = nb::borrow(error.value());
  }
  return true;
}

void Limits::Check(hr_status* status) {
  if (exception_.is_valid()) {
    if (status != nullptr) api.hr_status_release(status);
    Check();
  }
  if (status != nullptr) Throw(status);
}

void Limits::Check() {
  if (!exception_.is_valid()) return;
  nb::object exception = std::move(exception_);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

}  // namespace hr::python
