// Saving and checking small checkpoints.
#pragma once

#include <numeric>

#include "runtime/train/checkpoint_directory.h"
#include "runtime/train/checkpoint_writer.h"
#include "tests/unit/train/test_support.h"

namespace hr::train {

using NamedTensors = std::map<std::string, Tensor>;

inline Status SaveTensors(const std::string& directory, int64_t step, const NamedTensors& tensors,
                          const CheckpointOptions& options = {},
                          const CheckpointMetadata& metadata = {}) {
  std::vector<TensorSpec> specs;
  for (const auto& [name, tensor] : tensors) specs.push_back({name, tensor.dtype(), tensor.dims()});
  HR_ASSIGN_OR_RETURN(
      auto writer, CheckpointWriter::Create(directory, step, std::move(specs), metadata, options));
  for (const TensorSpec& spec : writer->order()) {
    HR_RETURN_IF_ERROR(writer->Write(tensors.at(spec.name)));
  }
  return writer->Commit();
}

// A tensor of `count` floats that tells which step it is of.
inline Tensor StepTensor(Allocator& allocator, int64_t step, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), static_cast<float>(step));
  return MakeTensor<float>(allocator, {count}, values).value();
}

// Flips one bit of a file.
inline void FlipBit(const std::string& path, size_t position, int bit = 3) {
  std::string text = ReadFile(path).value();
  text[position % text.size()] = static_cast<char>(text[position % text.size()] ^ (1 << bit));
  WriteText(path, text);
}

}  // namespace hr::train
