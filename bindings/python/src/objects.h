// Handles of the library as objects of Python.
#ifndef HEADRACE_PYTHON_OBJECTS_H_
#define HEADRACE_PYTHON_OBJECTS_H_

#include <nanobind/nanobind.h>

#include <memory>

#include "errors.h"
#include "gil.h"
#include "library.h"

namespace hr::python {

// How a handle is released, and its name; generated for each type.
template <class T>
struct HandleOf;
#include "generated/handles.inc"

// The object of a handle. Closing it drops its reference; a call that is under way on another
// thread has one of its own, so the handle is released when that has returned. References are
// copied and dropped with the interpreter's lock held. A handle of before a fork, or of an
// interpreter that ends, is not released: its threads are gone, or about to be.
template <class T>
struct Object {
  std::shared_ptr<T> handle;
  unsigned forks = fork_count;
};

template <class T>
std::shared_ptr<T> Own(T* handle) {
  return std::shared_ptr<T>(handle, [forks = fork_count](T* last) {
    if (exiting || forks != fork_count) return;
    WithoutGil without;
    HandleOf<T>::Release(last);
  });
}

template <class T>
nanobind::object ToObject(T* handle) {
  if (handle == nullptr) return nanobind::none();
  return nanobind::cast(Object<T>{Own(handle)});
}

template <class T>
PyTypeObject* TypeOfObject() {
  static PyTypeObject* type = reinterpret_cast<PyTypeObject*>(nanobind::type<Object<T>>().ptr());
  return type;
}

// Returns a reference to the handle for the time of a call. Throws if the object is of another
// type, closed, or older than a fork.
template <class T>
std::shared_ptr<T> Borrow(nanobind::handle object, Where where) {
  if (Py_TYPE(object.ptr()) != TypeOfObject<T>()) ThrowType(where, HandleOf<T>::kName, object);
  const auto& own = *nanobind::inst_ptr<Object<T>>(object);
  if (own.handle == nullptr) {
    Throw(HR_FAILED_PRECONDITION, std::string(where.function) + ": the " + HandleOf<T>::kName +
                                      " is closed; make a new one");
  }
  if (own.forks != fork_count) {
    Throw(HR_FAILED_PRECONDITION,
          std::string(where.function) + ": the " + HandleOf<T>::kName +
              " is the parent's; a process that was forked makes its own, from its own Env");
  }
  return own.handle;
}

template <class T>
std::shared_ptr<T> BorrowOrNull(nanobind::handle object, Where where) {
  return object.is_none() ? nullptr : Borrow<T>(object, where);
}

// Makes the class of the handle in the module.
template <class T, class... Extra>
void Define(nanobind::module_& module, const Extra&... extra) {
  namespace nb = nanobind;
  nb::class_<Object<T>> type(module, HandleOf<T>::kName, nb::is_weak_referenceable(), extra...);
  type.def("close", [](Object<T>& self) { std::exchange(self.handle, nullptr).reset(); });
  type.def_prop_ro("closed", [](const Object<T>& self) { return self.handle == nullptr; });
  type.def_prop_ro("address", [](const Object<T>& self) {
    return reinterpret_cast<uintptr_t>(self.handle.get());
  });
}

}  // namespace hr::python

#endif  // HEADRACE_PYTHON_OBJECTS_H_
