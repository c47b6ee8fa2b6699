// The functions that are generated, and the classes of handles.
#ifndef HEADRACE_PYTHON_RAW_H_
#define HEADRACE_PYTHON_RAW_H_

#include <nanobind/nanobind.h>

namespace hr::python {

void DefineFunctions(nanobind::module_& module);

}  // namespace hr::python

#endif  // HEADRACE_PYTHON_RAW_H_
