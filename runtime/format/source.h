// Where the bytes of a file come from: memory (mapped or the caller's), or calls that read them.
#pragma once

#include <memory>
#include <string>

#include "runtime/base/file.h"
#include "runtime/format/reader.h"

namespace hr::format {

// Bytes [offset, offset + bytes) of a buffer.
struct Piece {
  BufferRef buffer;
  size_t offset = 0;
  size_t bytes = 0;
  Bytes view() const { return {buffer->data() + offset, bytes}; }
};

class Source {
 public:
  virtual ~Source() = default;
  virtual uint64_t bytes() const = 0;
  // The caller has checked that the range lies within bytes(). The piece begins 64-byte aligned
  // where `offset` is.
  virtual Result<Piece> Range(uint64_t offset, size_t bytes) = 0;
};

// As ReadOptions::map says.
Result<std::unique_ptr<Source>> OpenFileSource(const std::string& path, bool map,
                                               Allocator& allocator);
Result<std::unique_ptr<Source>> MakeMemorySource(BufferRef file, Allocator& allocator);
std::unique_ptr<Source> MakeReaderSource(const HostReader& reader, Allocator& allocator);

}  // namespace hr::format
