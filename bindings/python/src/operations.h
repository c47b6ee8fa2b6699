// Calls that wait for other processes, and operations in flight.
//
// While a thread waits for an operation it moves the data of the group, and must not wait for the
// interpreter's lock: another thread may hold that for longer than the group's peers are patient.
// So signals are handled between two waits and not in them: the operation is started, and waited
// for in pieces.
#ifndef HEADRACE_PYTHON_OPERATIONS_H_
#define HEADRACE_PYTHON_OPERATIONS_H_

#include <functional>
#include <vector>

#include "limits.h"
#include "memory.h"
#include "objects.h"

namespace hr::python {

using Memories = std::vector<std::shared_ptr<Py_buffer>>;

// Returns the object of an operation. It and the operation keep the memory; whichever ends last.
nanobind::object ToWork(hr_work* work, Memories memory);

// Waits for an operation, and returns its result or why the wait has ended.
hr_status* WaitForWork(hr_work* work, Limits& limits);

// Performs an operation, by `run` where signals do not matter, else by `start`. Throws its failure.
void Perform(hr_group* group, Limits& limits,
             const std::function<hr_status*(const hr_limits*)>& run,
             const std::function<hr_status*(hr_work**)>& start);

// Makes a call that waits for all ranks to make it; on a thread of its own where signals matter.
void Meet(Limits& limits, const std::function<hr_status*(const hr_limits*)>& call);

void DefineOperations(nanobind::module_& module);

}  // namespace hr::python

#endif  // HEADRACE_PYTHON_OPERATIONS_H_
