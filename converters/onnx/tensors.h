// Tensors of an ONNX file, whose bytes stay where they are.
#pragma once

#include <map>
#include <string>

#include "converters/onnx/model.h"
#include "runtime/device/tensor.h"
#include "runtime/format/pages.h"

namespace hr::onnx {

// An element type that a file states, if tensors can have it; UNIMPLEMENTED, which begins with
// "WHAT 'NAME'", if not.
Result<DType> ElementType(std::string_view what, std::string_view name, int32_t type);

class TensorReader {
 public:
  // `path`: of the model, in whose folder external data lies.
  TensorReader(std::string path, format::FileMapping file, Allocator& allocator)
      : path_(std::move(path)), file_(std::move(file)), allocator_(allocator) {}

  // INVALID_ARGUMENT if sizes do not fit or external data is not inside the folder; UNIMPLEMENTED
  // for element types that a tensor cannot have.
  Result<Tensor> Read(const TensorProto& tensor);
  // The model's file and those beside it that were needed.
  std::vector<Bytes> mapped() const;

 private:
  Result<Tensor> ReadExternal(const TensorProto& tensor, DType dtype, size_t bytes);
  Result<const format::FileMapping*> Sidecar(std::string_view location);

  const std::string path_;
  const format::FileMapping file_;
  Allocator& allocator_;
  std::map<std::string, format::FileMapping, std::less<>> sidecars_;
};

// The tensor of a file that is a single TensorProto.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};
Result<NamedTensor> ReadTensorFile(const std::string& path, Allocator& allocator);

}  // namespace hr::onnx
