#include "converters/onnx/tensors.h"

#include <cstring>
#include <filesystem>

namespace hr::onnx {
namespace {

namespace fs = std::filesystem;

// The file at `location` below the folder of `model`. Links may not lead out of it.
Result<std::string> Below(const std::string& model, std::string_view location) {
  std::error_code error;
  const fs::path folder = fs::canonical(
      fs::path(model).parent_path().empty() ? fs::path(".") : fs::path(model).parent_path(), error);
  if (error) return NotFound("the folder of ", model, ": ", error.message());
  const fs::path relative(location);
  const fs::path file = fs::canonical(folder / relative, error);
  if (error) {
    return NotFound("the model's data file '", location, "' in ", folder.string(), ": ",
                    error.message(), "; it belongs beside the model");
  }
  const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  if (relative.is_relative() && end == folder.end()) return file.string();
  return InvalidArgument("the model's data file '", location, "' is not inside the model's folder ",
                         folder.string());
}

// The tensor, copied if need be. A file's bytes may lie anywhere, and passes over the model read
// small tensors (shapes, axes, numbers) as elements, which must be aligned; larger ones, which are
// but written, stay where they are.
Result<Tensor> WithAlignedElements(Allocator& allocator, Result<Tensor> tensor) {
  constexpr size_t kSmall = 4096;
  if (!tensor.ok() || tensor->bytes() > kSmall || tensor->bytes() == 0) return tensor;
  const size_t size = DTypeSize(tensor->dtype());
  if (reinterpret_cast<uintptr_t>(tensor->data()) % size == 0) return tensor;
  HR_ASSIGN_OR_RETURN(auto&& out, Tensor::Create(allocator, tensor->dtype(), tensor->dims()));
  std::memcpy(out.data(), tensor->data(), tensor->bytes());
  return std::move(out);
}

}  // namespace

Result<DType> ElementType(std::string_view what, std::string_view name, int32_t type) {
  const auto dtype = static_cast<DType>(type);
  if (IsSupported(dtype)) return dtype;
  const std::string_view known = DTypeName(dtype);
  return Unimplemented(what, " '", name, "' has elements of ",
                       known == "undefined" ? Cat("type ", type) : std::string(known),
                       ", which tensors here cannot have");
}

Result<const format::FileMapping*> TensorReader::Sidecar(std::string_view location) {
  HR_ASSIGN_OR_RETURN(auto&& path, Below(path_, location));
  auto found = sidecars_.find(path);
  if (found == sidecars_.end()) {
    HR_ASSIGN_OR_RETURN(auto&& file, format::MapFile(path, allocator_));
    found = sidecars_.emplace(std::move(path), std::move(file)).first;
  }
  return &found->second;
}

Result<Tensor> TensorReader::ReadExternal(const TensorProto& tensor, DType dtype, size_t bytes) {
  HR_ASSIGN_OR_RETURN(const format::FileMapping* file, Sidecar(tensor.location));
  const uint64_t length = tensor.length.value_or(bytes);
  if (length != bytes || tensor.offset > file->bytes || bytes > file->bytes - tensor.offset) {
    return InvalidArgument("tensor '", tensor.name, "' needs ", bytes, " bytes at ", tensor.offset,
                           " of '", tensor.location, "'; the model says ", length,
                           ", and the file has ", file->bytes);
  }
  return WithAlignedElements(
      allocator_, Tensor::View(file->buffer, file->offset + static_cast<size_t>(tensor.offset),
                               dtype, tensor.dims));
}

std::vector<Bytes> TensorReader::mapped() const {
  std::vector<Bytes> out = {AsBytes(file_.view())};
  for (const auto& [path, file] : sidecars_) out.push_back(AsBytes(file.view()));
  return out;
}

Result<Tensor> TensorReader::Read(const TensorProto& tensor) {
  HR_ASSIGN_OR_RETURN(const DType dtype, ElementType("tensor", tensor.name, tensor.data_type));
  const auto checked = CheckedTensorBytes(dtype, tensor.dims);
  if (!checked.ok()) return checked.status().Clone().WithContext(Cat("tensor '", tensor.name, "'"));
  const size_t bytes = *checked;
  if (tensor.external) return ReadExternal(tensor, dtype, bytes);
  if (tensor.raw) {
    if (tensor.raw->size() != bytes) {
      return InvalidArgument("tensor '", tensor.name, "' of ", DTypeName(dtype), tensor.dims,
                             " has ", bytes, " bytes by its shape and ", tensor.raw->size(),
                             " in the file");
    }
    const auto offset = static_cast<size_t>(tensor.raw->data() - file_.view().data());
    return WithAlignedElements(
        allocator_, Tensor::View(file_.buffer, file_.offset + offset, dtype, tensor.dims));
  }
  HR_ASSIGN_OR_RETURN(auto&& elements, TypedElements(tensor, dtype, bytes / DTypeSize(dtype)));
  HR_ASSIGN_OR_RETURN(auto&& out, Tensor::Create(allocator_, dtype, tensor.dims));
  if (bytes != 0) std::memcpy(out.data(), elements.data(), bytes);
  return std::move(out);
}

Result<NamedTensor> ReadTensorFile(const std::string& path, Allocator& allocator) {
  HR_ASSIGN_OR_RETURN(auto&& file, format::MapFile(path, allocator));
  auto proto = ParseTensor(file.view());
  if (!proto.ok()) return std::move(proto).status().WithContext(path);
  auto tensor = TensorReader(path, file, allocator).Read(*proto);
  if (!tensor.ok()) return std::move(tensor).status().WithContext(path);
  return NamedTensor{std::string(proto->name), *std::move(tensor)};
}

}  // namespace hr::onnx
