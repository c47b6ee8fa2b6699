// Writes a checkpoint below the folder given, for Python to read.
#include <cmath>
#include <cstdio>
#include <numeric>

#include "runtime/train/checkpoint_writer.h"

namespace hr::train {
namespace {

// 0, 0.37, 0.74, … folded into [-1, 1] by a sine: what the Python side computes too.
Result<Tensor> Wave(Dims dims) {
  HR_ASSIGN_OR_RETURN(Tensor tensor,
                      Tensor::Create(SystemAllocator(), DType::kFloat32, std::move(dims)));
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    tensor.as<float>()[i] = static_cast<float>(std::sin(0.37 * static_cast<double>(i)));
  }
  return tensor;
}

// uint8 0, 1, 2, …
Result<Tensor> Ramp(Dims dims) {
  HR_ASSIGN_OR_RETURN(Tensor tensor,
                      Tensor::Create(SystemAllocator(), DType::kUint8, std::move(dims)));
  std::iota(tensor.as<uint8_t>(), tensor.as<uint8_t>() + tensor.elements(), uint8_t{0});
  return tensor;
}

Status WriteCheckpoint(const std::string& directory) {
  HR_ASSIGN_OR_RETURN(Tensor wave, Wave({3, 4}));
  HR_ASSIGN_OR_RETURN(Tensor ramp, Ramp({5}));
  HR_ASSIGN_OR_RETURN(Tensor empty, Wave({0, 2}));
  std::map<std::string, Tensor> tensors{
      {"conv1.weight", wave}, {"r\xc3\xa4mp", ramp}, {"empty", empty}};
  std::vector<TensorSpec> specs;
  for (const auto& [name, tensor] : tensors) specs.push_back({name, tensor.dtype(), tensor.dims()});
  HR_ASSIGN_OR_RETURN(auto writer,
                      CheckpointWriter::Create(directory, 123, std::move(specs), {{"seed", "7"}},
                                               {.max_shard_bytes = 16}));
  for (const TensorSpec& spec : writer->order()) {
    HR_RETURN_IF_ERROR(writer->Write(tensors.at(spec.name)));
  }
  return writer->Commit();
}

}  // namespace
}  // namespace hr::train

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  hr::Status status = hr::train::WriteCheckpoint(hr::JoinPath(argv[1], "checkpoints"));
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
