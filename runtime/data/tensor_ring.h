// Tensors whose memory is used again once nobody else holds them.
#pragma once

#include <span>
#include <vector>

#include "runtime/device/tensor.h"

namespace hr::data {

// One thread at a time takes; the tensors taken may be dropped on any thread.
class TensorRing {
 public:
  TensorRing(Allocator& allocator, DType dtype) : allocator_(&allocator), dtype_(dtype) {}

  // Makes `*out` a contiguous tensor of shape `dims` with unspecified contents. Allocates only
  // if every tensor of that shape is still held, by `*out` too.
  Status Take(std::span<const int64_t> dims, Tensor* out);

 private:
  Allocator* allocator_;
  DType dtype_;
  std::vector<Tensor> slots_;
};

}  // namespace hr::data
