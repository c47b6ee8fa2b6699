#include "runtime/format/source.h"

#include <cstring>

#include "runtime/base/errors.h"

namespace hr::format {
namespace {

class MemorySource final : public Source {
 public:
  explicit MemorySource(BufferRef file) : file_(std::move(file)) {}
  uint64_t bytes() const override { return file_->bytes(); }
  Result<Piece> Range(uint64_t offset, size_t bytes) override {
    return Piece{file_, static_cast<size_t>(offset), bytes};
  }

 private:
  BufferRef file_;
};

class ReaderSource final : public Source {
 public:
  ReaderSource(const HostReader& reader, Allocator& allocator)
      : reader_(reader), allocator_(allocator) {}
  uint64_t bytes() const override { return reader_.bytes; }
  Result<Piece> Range(uint64_t offset, size_t bytes) override {
    HR_ASSIGN_OR_RETURN(auto&& buffer, AllocateBuffer(allocator_, bytes));
    if (bytes != 0) {
      HR_RETURN_IF_ERROR(reader_.read(reader_.context, offset, bytes, buffer->data()));
    }
    return Piece{std::move(buffer), 0, bytes};
  }

 private:
  HostReader reader_;
  Allocator& allocator_;
};

// A file that is read, not mapped.
class FileSource final : public Source {
 public:
  FileSource(FileReader file, Allocator& allocator)
      : file_(std::move(file)),
        reader_({this, static_cast<uint64_t>(file_.size()), &FileSource::Read}, allocator) {}
  uint64_t bytes() const override { return reader_.bytes(); }
  Result<Piece> Range(uint64_t offset, size_t bytes) override {
    return reader_.Range(offset, bytes);
  }

 private:
  static Status Read(void* context, uint64_t offset, size_t bytes, void* out) {
    const FileReader& file = static_cast<FileSource*>(context)->file_;
    return file.ReadAt(static_cast<int64_t>(offset), {static_cast<std::byte*>(out), bytes});
  }

  FileReader file_;
  ReaderSource reader_;
};

}  // namespace

Result<std::unique_ptr<Source>> OpenFileSource(const std::string& path, bool map,
                                               Allocator& allocator) {
  if (!map) {
    HR_ASSIGN_OR_RETURN(FileReader file, FileReader::Open(path));
    return std::unique_ptr<Source>(std::make_unique<FileSource>(std::move(file), allocator));
  }
  HR_ASSIGN_OR_RETURN(BufferRef buffer, MapFile(path));
  return std::unique_ptr<Source>(std::make_unique<MemorySource>(std::move(buffer)));
}

Result<std::unique_ptr<Source>> MakeMemorySource(BufferRef file, Allocator& allocator) {
  if (file->device().type == DeviceType::kCuda) {
    return InvalidArgument("the graph file lies on ", DeviceName(file->device()),
                           "; expected memory of the CPU");
  }
  if (reinterpret_cast<uintptr_t>(file->data()) % kTensorAlignment != 0) {
    HR_ASSIGN_OR_RETURN(auto&& copy, AllocateBuffer(allocator, file->bytes()));
    std::memcpy(copy->data(), file->data(), file->bytes());
    file = std::move(copy);
  }
  return std::unique_ptr<Source>(std::make_unique<MemorySource>(std::move(file)));
}

std::unique_ptr<Source> MakeReaderSource(const HostReader& reader, Allocator& allocator) {
  return std::make_unique<ReaderSource>(reader, allocator);
}

}  // namespace hr::format
