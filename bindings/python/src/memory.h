// Memory that objects of Python offer, and tensors in it.
#ifndef HEADRACE_PYTHON_MEMORY_H_
#define HEADRACE_PYTHON_MEMORY_H_

#include <headrace/headrace.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <memory>

#include "errors.h"

namespace hr::python {

// The bytes of an object with the buffer protocol, contiguous. They stay where they are until this
// is destroyed, which needs the interpreter's lock.
class Memory {
 public:
  // No memory: a NULL for the library.
  Memory() = default;
  Memory(nanobind::handle object, bool writable, Where where);
  Memory(Memory&& other) noexcept : buffer_(std::move(other.buffer_)) {}
  Memory& operator=(Memory&& other) noexcept = default;

  void* data() const { return buffer_ ? buffer_->buf : nullptr; }
  size_t bytes() const { return buffer_ ? static_cast<size_t>(buffer_->len) : 0; }
  // Throws if there is memory, and it has not `count` elements of the type for each of `ranks`.
  void CheckElements(uint64_t count, hr_dtype dtype, int32_t ranks, Where where) const;
  // Gives the buffer away to something that outlives this.
  std::shared_ptr<Py_buffer> share() const { return buffer_; }

 private:
  std::shared_ptr<Py_buffer> buffer_;
};

// The same, or no memory for None.
Memory MemoryOrNull(nanobind::handle object, bool writable, Where where);

// Makes a tensor in the memory of an object with the buffer protocol. Of a read-only buffer it is
// read-only. Throws BufferError if the object has no buffer, or one that no tensor can have.
nanobind::object TensorOfBuffer(nanobind::handle object);
// Adds the functions of tensors to the module, and the buffer protocol to their class.
void DefineMemory(nanobind::module_& module);
// The slots of the class of tensors.
PyType_Slot* TensorSlots();

// Lets go of a reference, or of a buffer, from any thread.
void DropLater(PyObject* object);
void DropLater(std::shared_ptr<Py_buffer> buffer);

}  // namespace hr::python

#endif  // HEADRACE_PYTHON_MEMORY_H_
