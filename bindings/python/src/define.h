// Functions of the module. They take and return objects of Python, None included, by position.
#ifndef HEADRACE_PYTHON_DEFINE_H_
#define HEADRACE_PYTHON_DEFINE_H_

#include <nanobind/nanobind.h>

#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace hr::python {

// Sets the exception that is being handled as Python's; used in a handler.
void SetPythonError();

template <auto function>
struct Callable;

template <class Result, class... Arguments, Result (*function)(Arguments...)>
struct Callable<function> {
  static PyObject* Call(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
    if (count != static_cast<Py_ssize_t>(sizeof...(Arguments))) {
      PyErr_Format(PyExc_TypeError, "expected %zd arguments, got %zd",
                   static_cast<Py_ssize_t>(sizeof...(Arguments)), count);
      return nullptr;
    }
    return Apply(arguments, std::index_sequence_for<Arguments...>());
  }

 private:
  template <size_t... i>
  static PyObject* Apply([[maybe_unused]] PyObject* const* arguments, std::index_sequence<i...>) {
    try {
      if constexpr (std::is_void_v<Result>) {
        function(nanobind::handle(arguments[i])...);
        return nanobind::none().release().ptr();
      } else {
        return nanobind::cast(function(nanobind::handle(arguments[i])...)).release().ptr();
      }
    } catch (const std::exception&) {
      SetPythonError();
      return nullptr;
    }
  }
};

// Adds a function to the module. Quicker than nanobind's own, which chooses among overloads.
template <auto function>
void Def(nanobind::module_& module, const char* name) {
  static PyMethodDef method{
      name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&Callable<function>::Call)),
      METH_FASTCALL, nullptr};
  PyObject* made = PyCFunction_NewEx(&method, nullptr, nullptr);
  if (made == nullptr) throw nanobind::python_error();
  module.attr(name) = nanobind::steal(made);
}

}  // namespace hr::python

#endif  // HEADRACE_PYTHON_DEFINE_H_
