// Files of named tensors that other programs read and write: .safetensors and NumPy's .npz.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/cancel.h"
#include "runtime/device/tensor.h"

namespace hr::train {

struct NamedWeight {
  std::string name;
  Tensor tensor;
};

// Everything of the file, whose ending says what it is. What can be used where it lies is mapped;
// compressed arrays, and those of other orders of bytes or axes, are copied by `allocator`, which
// must outlive the tensors. DATA_LOSS for a file that is damaged, UNIMPLEMENTED for element types
// that tensors do not have.
Result<std::vector<NamedWeight>> ReadWeights(const std::string& path, Allocator& allocator);

// Replaces the file, or leaves it as it was, also if the machine stops meanwhile. The tensors are
// contiguous and their names unique; UNIMPLEMENTED for element types that the format does not have.
Status WriteWeights(const std::string& path, std::span<const NamedWeight> weights,
                    const CallLimits& limits);

// Fails unless the path ends as one of the formats does.
Status CheckWeightsEnding(std::string_view path);

}  // namespace hr::train
