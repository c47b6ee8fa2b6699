// Files that are mapped, and the memory that they take.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/file.h"
#include "runtime/device/tensor.h"

namespace hr::onnx {

// A mapped file. Tensors keep the mapping.
struct MappedFile {
  BufferRef buffer;
  size_t offset = 0, bytes = 0;
  std::string_view view() const {
    return {reinterpret_cast<const char*>(buffer->data()) + offset, bytes};
  }
};
Result<MappedFile> MapFile(const std::string& path, Allocator& allocator);

// Gives back the memory of those pages of the mapped files that lie wholly in `bytes`. They are
// read again if they are used again.
void ForgetPages(const std::vector<Bytes>& mapped, Bytes bytes);

}  // namespace hr::onnx
