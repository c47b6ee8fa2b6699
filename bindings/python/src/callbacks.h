// Functions of Python that the library calls.
#ifndef HEADRACE_PYTHON_CALLBACKS_H_
#define HEADRACE_PYTHON_CALLBACKS_H_

#include <nanobind/nanobind.h>

#include <functional>

#include "errors.h"
#include "gil.h"
#include "library.h"
#include "memory.h"

namespace hr::python {

// Calls `function` with the interpreter's lock, and returns what it throws as a failure.
hr_status* Guarded(const std::function<void()>& function);

// A reference to an object of Python as a context, and how it is released.
inline void* Keep(nanobind::handle object) { return object.inc_ref().ptr(); }
inline void DropContext(void* context) { DropLater(static_cast<PyObject*>(context)); }

// Gives a callable to hr_work_on_done or hr_run_on_done. It is called with None or an exception.
void OnDoneTrampoline(void* context, const hr_status* status);

template <class Register>
void OnDone(nanobind::handle callback, Register with) {
  void* context = Keep(callback);
  hr_status* status = Released([&] { return with(&OnDoneTrampoline, context); });
  if (status != nullptr) DropContext(context);
  Check(status);
}

void DefineCallbacks(nanobind::module_& module);  // envs, stores, models, training
void DefineDatasets(nanobind::module_& module);
void DefineOperators(nanobind::module_& module);

}  // namespace hr::python

#endif  // HEADRACE_PYTHON_CALLBACKS_H_
