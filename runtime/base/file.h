// Files: mapping, reading, and writing so that a crash leaves the old contents or the new.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/allocator.h"
#include "runtime/base/function_ref.h"
#include "runtime/base/result.h"

namespace hr {

using Bytes = std::span<const std::byte>;

inline Bytes AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
inline std::string_view AsText(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A whole file mapped privately and writable: pages are shared with every other mapping until they
// are written, and writing never reaches the file. Somebody truncating the file while it is mapped
// raises SIGBUS on access.
class MappedFile {
 public:
  static Result<MappedFile> Open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<std::byte> bytes() const { return bytes_; }

  // Gives the memory of these bytes back until they are read again, so that walking through a large
  // file takes little memory. What was written to them is lost.
  void Forget(size_t offset, size_t bytes) const;

 private:
  MappedFile() = default;
  std::span<std::byte> bytes_;
};

// A regular file read at given offsets. Thread-safe.
class FileReader {
 public:
  static Result<FileReader> Open(const std::string& path);
  FileReader(FileReader&& other) noexcept;
  FileReader& operator=(FileReader&& other) noexcept;
  ~FileReader();

  int64_t size() const { return size_; }  // when it was opened
  // Fills `out`, or fails with DATA_LOSS if the file ends before that.
  Status ReadAt(int64_t offset, std::span<std::byte> out) const;

 private:
  FileReader() = default;
  int fd_ = -1;
  int64_t size_ = 0;
  std::string path_;
};

// A failure if the file has more than `most_bytes`, before any memory is taken.
Result<std::string> ReadFile(const std::string& path, size_t most_bytes = SIZE_MAX);
Result<int64_t> FileSize(const std::string& path);
bool FileExists(const std::string& path);

// What shows that a file was changed or replaced.
struct FileStamp {
  int64_t bytes = 0;
  int64_t modified_nanos = 0;  // since 1970
  bool directory = false;
};
Result<FileStamp> StampOf(const std::string& path);

// A lock that one holder at a time has, of all processes of the machine. It ends with its holder,
// however that ends.
class FileLock {
 public:
  // Takes the lock that the file at `path` stands for, which is made if it is not there and stays.
  // UNAVAILABLE if somebody else has it, UNIMPLEMENTED if the file system has no locks.
  static Result<FileLock> Try(const std::string& path);
  // The same with a file or folder that is there; NOT_FOUND if it is not.
  static Result<FileLock> TryExisting(const std::string& path);
  FileLock() = default;  // locks nothing
  FileLock(FileLock&& other) noexcept;
  ~FileLock();

 private:
  static Result<FileLock> Take(int fd, const std::string& path);
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

Result<std::vector<std::string>> ListDirectory(const std::string& path);  // names, sorted
Status MakeDirectories(const std::string& path);
Status RemoveFile(const std::string& path);
Status RemoveTree(const std::string& path);
Status RenamePath(const std::string& from, const std::string& to);
// Makes the entries of a directory durable.
Status SyncDirectory(const std::string& path);

// Appends to a new file; every call reports a full disk as RESOURCE_EXHAUSTED with the path.
class FileWriter {
 public:
  enum class Mode { kTruncate, kAppend, kNew };  // kNew: ALREADY_EXISTS if it is there
  static Result<FileWriter> Create(const std::string& path, Mode mode = Mode::kTruncate);
  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&& other) noexcept;
  ~FileWriter();  // closes, without Sync

  Status Write(Bytes bytes);
  Status WriteAt(int64_t offset, Bytes bytes);
  Status Sync();
  Status Close();
  int64_t offset() const { return offset_; }

 private:
  FileWriter() = default;
  int fd_ = -1;
  int64_t offset_ = 0;
  std::string path_;
};

// Writes to a temporary neighbour (runtime/base/temporary_path.h), syncs, renames over `path`,
// syncs the directory. Others may write to `path` at the same time: one of the contents stays.
Status WriteFileAtomically(const std::string& path, Bytes contents);
// The same with contents that `write` sends piece by piece; if it fails, `path` stays as it was.
Status WriteFileAtomically(const std::string& path, FunctionRef<Status(FileWriter&)> write);

// "a/b" + "c"; an absolute second part wins.
std::string JoinPath(std::string_view directory, std::string_view name);
std::string_view DirectoryOf(std::string_view path);  // "." if there is none
std::string_view BaseName(std::string_view path);

}  // namespace hr
