// libheadrace, opened when the module is loaded. Its functions are called through a table, so that
// a missing or older library is an ImportError that says what to do, and not one of the linker.
#ifndef HEADRACE_PYTHON_LIBRARY_H_
#define HEADRACE_PYTHON_LIBRARY_H_

#include <headrace/headrace.h>

#include <string>

namespace hr::python {

struct Library {
#define HR_FUNCTION(name) decltype(&::name) name = nullptr;
#include "generated/functions.inc"
#undef HR_FUNCTION
};

// The functions; null before Open.
extern Library api;

// Opens the library at `path`: a path, or a name for the system's loader. Returns "" or a sentence
// that says what is wrong.
std::string Open(const char* path);

}  // namespace hr::python

#endif  // HEADRACE_PYTHON_LIBRARY_H_
