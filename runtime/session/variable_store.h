// A session's variables. A variable shares its initial value with the model (and so with the mapped
// file) until somebody is about to write it.
#pragma once

#include <vector>

#include "runtime/device/tensor.h"
#include "runtime/graph/graph.h"

namespace hr::session {

// Guarded by the session's run lock: writers exclusively, readers shared.
class VariableStore {
 public:
  explicit VariableStore(size_t count) : tensors_(count), owned_(count, false) {}

  const Tensor& Get(uint32_t variable) const { return tensors_[variable]; }
  // The value from now on; shared memory is copied before the first write.
  void SetShared(uint32_t variable, Tensor value);
  // The same for memory that nobody else uses, which may be written.
  void SetOwned(uint32_t variable, Tensor value);
  // Copies `value` into memory of the session's own; cannot fail where that is writable already.
  Status Set(Allocator& allocator, uint32_t variable, const Tensor& value);
  // Makes the variable's memory the session's own, so that it may be written.
  Status MakeWritable(Allocator& allocator, uint32_t variable);
  // Grows whenever a variable's memory moves: bound pointers must be bound again.
  uint64_t generation() const { return generation_; }
  // Grows whenever the value of a variable may have changed.
  uint64_t version() const { return version_; }
  // A run has written variables.
  void MarkWritten() { ++version_; }

 private:
  std::vector<Tensor> tensors_;
  graph::Marks owned_;
  uint64_t generation_ = 1;
  uint64_t version_ = 0;
};

}  // namespace hr::session
