// Tensors of zeros, such as the first state of optimizers.
#pragma once

#include "runtime/device/tensor.h"

namespace hr {

// A contiguous tensor of zeros on the CPU. A large one is read-only and takes no memory: its pages
// are one of the system's.
Result<Tensor> MakeZeros(Allocator& allocator, DType dtype, Dims dims);

}  // namespace hr
