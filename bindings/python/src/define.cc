#include "define.h"

namespace nb = nanobind;

namespace hr::python {

void SetPythonError() {
  try {
    throw;
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

}  // namespace hr::python
