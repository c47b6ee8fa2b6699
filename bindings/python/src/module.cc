// The module headrace._native.
#include <nanobind/nanobind.h>

#include "block.h"
#include "callbacks.h"
#include "errors.h"
#include "gil.h"
#include "library.h"
#include "limits.h"
#include "memory.h"
#include "objects.h"
#include "operations.h"
#include "raw.h"

namespace nb = nanobind;

namespace hr::python {
namespace {

void DefineHandles(nb::module_& module) {
  Define<hr_cancel>(module);
  Define<hr_launch>(module);
  Define<hr_store>(module);
  Define<hr_group>(module);
  Define<hr_work>(module);
  Define<hr_env>(module);
  Define<hr_graph>(module);
  Define<hr_node_spec>(module);
  Define<hr_model>(module);
  Define<hr_op>(module);
  Define<hr_queue>(module);
  Define<hr_session>(module);
  Define<hr_call>(module);
  Define<hr_run>(module);
  Define<hr_tensor>(module, nb::type_slots(TensorSlots()));
  Define<hr_dataset>(module);
  Define<hr_summary>(module);
  Define<hr_progress>(module);
}

}  // namespace
}  // namespace hr::python

NB_MODULE(_native, module) {
  using namespace hr::python;
  nb::set_leak_warnings(false);  // objects that live until the end of the program are no leaks
  WatchForks();
  SetMainThread();
  module.def("open", [](const std::string& path) { return Open(path.c_str()); });
  module.def("set_error_types", &SetErrorTypes);
  module.def("set_exiting", [] { exiting = true; });
  DefineHandles(module);
  DefineBlocks(module);
  DefineMemory(module);
  DefineOperations(module);
  DefineCallbacks(module);
  DefineDatasets(module);
  DefineOperators(module);
  DefineFunctions(module);
}
