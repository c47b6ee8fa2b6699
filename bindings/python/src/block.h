// Memory of the library that Python sees for a while.
#ifndef HEADRACE_PYTHON_BLOCK_H_
#define HEADRACE_PYTHON_BLOCK_H_

#include <headrace/headrace.h>
#include <nanobind/nanobind.h>

#include <memory>
#include <vector>

namespace hr::python {

// Contiguous elements, offered by the buffer protocol. What Python has no letter for (bfloat16)
// comes as unsigned integers of the same size.
struct Block {
  hr_dtype dtype = HR_UNDEFINED;
  std::vector<int64_t> dims;
  void* data = nullptr;
  bool read_only = true;
  std::shared_ptr<void> owner;  // of the memory; null: somebody else keeps it
  int exports = 0;              // how many views there are
};

// The letter of the struct module for a type; "" if there is none.
const char* FormatOf(hr_dtype dtype);
// Fills in a view of elements; throws BufferError as Python's exception and returns -1 if the view
// cannot be given. `strides` are in bytes. The arrays live as long as the view.
struct ViewOf {
  void* data;
  hr_dtype dtype;
  std::vector<Py_ssize_t> dims, strides;
  bool read_only;
  const char* format;
  std::shared_ptr<void> owner;
};
int FillView(std::unique_ptr<ViewOf> view, PyObject* exporter, Py_buffer* out, int flags);

void DefineBlocks(nanobind::module_& module);

}  // namespace hr::python

#endif  // HEADRACE_PYTHON_BLOCK_H_
