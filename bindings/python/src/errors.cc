#include "errors.h"

#include <vector>

#include "library.h"

namespace nb = nanobind;

namespace hr::python {
namespace {

PyObject* error_types = nullptr;  // a list, which lives as long as the process

// The last exception that a callback has thrown, until the call that it fails has raised.
struct Cause {
  std::string text;
  PyObject* exception = nullptr;
};
Cause cause;

nb::object TypeOf(hr_code code) {
  nb::handle types(error_types);
  const size_t known = nb::len(types);
  return types[code >= 0 && static_cast<size_t>(code) < known ? code : HR_UNKNOWN];
}

nb::object TakeCause(const std::string& message) {
  if (cause.exception == nullptr || message.find(cause.text) == std::string::npos) return {};
  return nb::steal(std::exchange(cause.exception, nullptr));
}

nb::object MakeException(hr_code code, const std::string& message, const char* node) {
  nb::object exception = TypeOf(code)(message, node);
  nb::object from = TakeCause(message);
  if (!from.is_valid()) return exception;
  // What ends programs (KeyboardInterrupt, SystemExit) is no failure of a call.
  if (!PyErr_GivenExceptionMatches(from.ptr(), PyExc_Exception)) return from;
  exception.attr("__cause__") = from;
  return exception;
}

[[noreturn]] void Raise(const nb::object& exception) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

// The code of an exception of headrace.errors; of others HR_UNKNOWN.
hr_code CodeOf(nb::handle exception) {
  nb::object code = nb::getattr(exception, "code", nb::none());
  const long value = PyLong_Check(code.ptr()) ? PyLong_AsLong(code.ptr()) : 0;
  if (value == -1 && PyErr_Occurred() != nullptr) PyErr_Clear();
  return value > HR_OK && value <= HR_DEVICE_LOST ? static_cast<hr_code>(value) : HR_UNKNOWN;
}

std::string TextOf(nb::handle exception) {
  PyObject* text = PyObject_Str(exception.ptr());
  if (text == nullptr) PyErr_Clear();
  nb::object kept = nb::steal(text);
  const char* utf8 = text == nullptr ? nullptr : PyUnicode_AsUTF8AndSize(text, nullptr);
  if (utf8 == nullptr) PyErr_Clear();
  std::string name = nb::cast<std::string>(nb::str(exception.type().attr("__name__")));
  return utf8 == nullptr || *utf8 == '\0' ? name : name + ": " + utf8;
}

}  // namespace

void SetErrorTypes(nb::list types) { error_types = types.release().ptr(); }

nb::object ExceptionOf(hr_status* status) {
  if (status == nullptr) return nb::none();
  const hr_code code = api.hr_status_code(status);
  const std::string message = api.hr_status_message(status), node = api.hr_status_node(status);
  api.hr_status_release(status);
  return MakeException(code, message, node.c_str());
}

void Throw(hr_status* status) { Raise(ExceptionOf(status)); }

void Throw(hr_code code, const std::string& message) { Raise(MakeException(code, message, "")); }

void ThrowType(Where where, const char* expected, nb::handle got) {
  const std::string type = nb::cast<std::string>(nb::str(got.type().attr("__name__")));
  PyErr_Format(PyExc_TypeError, "%s: '%s' must be %s, got %s", where.function, where.argument,
               expected, type.c_str());
  throw nb::python_error();
}

hr_status* FailureOf(nb::python_error& error) {
  const std::string text = TextOf(error.value());
  const hr_code code = CodeOf(error.value());
  Py_XDECREF(std::exchange(cause.exception, error.value().inc_ref().ptr()));
  cause.text = text;
  return api.hr_status_create(code, text.c_str());
}

hr_status* FailureOf(const std::exception& error) {
  return api.hr_status_create(HR_INVALID_ARGUMENT, error.what());
}

}  // namespace hr::python
