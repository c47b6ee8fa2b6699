#include "runtime/data/tensor_ring.h"

#include <algorithm>

namespace hr::data {

Status TensorRing::Take(std::span<const int64_t> dims, Tensor* out) {
  for (const Tensor& slot : slots_) {
    if (slot.buffer().use_count() != 1 || !std::ranges::equal(slot.dims(), dims)) continue;
    // Whoever dropped the tensor last may have read it on another thread. Taking and dropping a
    // reference (an acquire-release operation on the same count) orders those reads before us.
    BufferRef(slot.buffer()).reset();
    *out = slot;  // by copy, which keeps the memory of out's dims
    return {};
  }
  HR_ASSIGN_OR_RETURN(Tensor tensor,
                      Tensor::Create(*allocator_, dtype_, Dims(dims.begin(), dims.end())));
  *out = slots_.emplace_back(std::move(tensor));
  return {};
}

}  // namespace hr::data
