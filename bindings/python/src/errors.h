// Failures of the library as exceptions, and exceptions of callbacks as failures.
#ifndef HEADRACE_PYTHON_ERRORS_H_
#define HEADRACE_PYTHON_ERRORS_H_

#include <headrace/headrace.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

namespace hr::python {

// Where a value came from, for messages.
struct Where {
  const char* function;
  const char* argument;
};

// Sets the exceptions of headrace.errors: a list with a type for each hr_code.
void SetErrorTypes(nanobind::list types);

// Returns the exception of a failure, and releases that; None for NULL.
nanobind::object ExceptionOf(hr_status* status);
// Throws the exception of a failure, if it is one.
inline void Check(hr_status* status);
[[noreturn]] void Throw(hr_status* status);
[[noreturn]] void Throw(hr_code code, const std::string& message);
// Throws a TypeError: what was expected, and of what type `got` is.
[[noreturn]] void ThrowType(Where where, const char* expected, nanobind::handle got);

// Makes a failure of the exception that a callback has thrown; the interpreter's lock is held. The
// exception that the failed call raises has the callback's as its cause.
hr_status* FailureOf(nanobind::python_error& error);
hr_status* FailureOf(const std::exception& error);

void Check(hr_status* status) {
  if (status != nullptr) Throw(status);
}

}  // namespace hr::python

#endif  // HEADRACE_PYTHON_ERRORS_H_
