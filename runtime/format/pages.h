// Files that are mapped, and the memory that they take.
#pragma once

#include <span>
#include <string>

#include "runtime/base/file.h"
#include "runtime/device/tensor.h"

namespace hr::format {

// A mapped file. Tensors keep the mapping.
struct FileMapping {
  BufferRef buffer;
  size_t offset = 0, bytes = 0;
  std::string_view view() const {
    return {reinterpret_cast<const char*>(buffer->data()) + offset, bytes};
  }
};
Result<FileMapping> MapFile(const std::string& path, Allocator& allocator);

// Gives back the memory of the pages of `bytes`, if they lie in one of the mapped files, and of
// some before them. They are read again if they are used again; nobody may have written to the
// files' memory.
void ForgetPages(std::span<const Bytes> mapped, Bytes bytes);

// Gives back the memory of a mapped file while it is read from front to back.
class PageWalk {
 public:
  explicit PageWalk(const FileMapping& file) : file_(AsBytes(file.view())), last_(file_.data()) {}

  // `bytes` of the file, and what is before them, are not needed for now.
  void Passed(Bytes bytes);

 private:
  const Bytes file_;
  const std::byte* last_;
};

}  // namespace hr::format
