// A file or folder that is written beside the path that it is for, and renamed to it when it is
// complete. Any number of writers may do so for one path at a time, in several processes, too: the
// last rename counts, and nobody sees a part of anything.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/file.h"

namespace hr {

// Returns "PATH.0123456789abcdef" + ending, which nothing else on the machine is called.
std::string NameBeside(const std::string& path, std::string_view ending);

// PATH.0123456789abcdef.tmp. It is locked while its owner lives, so others can tell whether a crash
// has left it behind (if the file system has locks).
class TemporaryPath {
 public:
  static Result<TemporaryPath> File(const std::string& path);  // an empty one
  static Result<TemporaryPath> Folder(const std::string& path);
  TemporaryPath(TemporaryPath&& other) noexcept;
  TemporaryPath& operator=(TemporaryPath&&) = delete;
  ~TemporaryPath();  // removes what was not renamed

  const std::string& path() const { return path_; }
  Status RenameTo(const std::string& path);

 private:
  static Result<TemporaryPath> Make(const std::string& path, Status (*make)(const std::string&));
  TemporaryPath(std::string path, FileLock lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;  // empty after RenameTo
  FileLock lock_;
};

// Removes a temporary file or folder unless its owner is alive.
void RemoveIfAbandoned(const std::string& path);
// The same for all temporary files of one path.
void RemoveAbandonedOf(const std::string& path);

}  // namespace hr
