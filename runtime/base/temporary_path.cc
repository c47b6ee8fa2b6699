#include "runtime/base/temporary_path.h"

#include <utility>

#include "runtime/base/cancel.h"
#include "runtime/base/errors.h"

namespace hr {
namespace {

constexpr std::string_view kEnding = ".tmp";
constexpr size_t kStampDigits = 16;
constexpr std::string_view kDigits = "0123456789abcdef";
constexpr int kMostTries = 100;

Status MakeFile(const std::string& path) {
  return FileWriter::Create(path, FileWriter::Mode::kNew).status().Clone();
}

// Of PATH.0123456789abcdef.tmp, where `name` is the last part of PATH.
bool IsTemporaryOf(std::string_view name, std::string_view temporary) {
  return temporary.size() == name.size() + 1 + kStampDigits + kEnding.size() &&
         temporary.starts_with(name) && temporary[name.size()] == '.' &&
         temporary.ends_with(kEnding) &&
         temporary.substr(name.size() + 1, kStampDigits).find_first_not_of(kDigits) ==
             std::string_view::npos;
}

}  // namespace

std::string NameBeside(const std::string& path, std::string_view ending) {
  // The time since the machine's start, and where this thread's stack lies, which differs between
  // threads, and mostly between processes. Who needs more looks whether the name is taken.
  const auto place = reinterpret_cast<uintptr_t>(&ending);
  auto stamp = static_cast<uint64_t>(SystemClock().NowNanos()) ^ (uint64_t{place} << 20);
  std::string digits(kStampDigits, '0');
  for (size_t i = kStampDigits; i-- > 0; stamp >>= 4) digits[i] = kDigits[stamp & 15];
  return Cat(path, ".", digits, ending);
}

Result<TemporaryPath> TemporaryPath::Make(const std::string& path,
                                          Status (*make)(const std::string&)) {
  for (int i = 0; i < kMostTries; ++i) {
    std::string name = NameBeside(path, kEnding);
    const Status made = make(name);
    // Somebody who tidies up may be quicker than the look at what was made, and than the lock.
    const bool removed =
        made.code() == Code::kNotFound && FileExists(std::string(DirectoryOf(name)));
    if (made.code() == Code::kAlreadyExists || removed) continue;
    HR_RETURN_IF_ERROR(made.Clone());
    Result<FileLock> lock = FileLock::TryExisting(name);
    const bool taken = !lock.ok() && (lock.status().code() == Code::kUnavailable ||
                                      lock.status().code() == Code::kNotFound);
    if (taken || !FileExists(name)) continue;
    if (lock.ok()) return TemporaryPath(std::move(name), std::move(lock).value());
    return TemporaryPath(std::move(name), FileLock());
  }
  return Unavailable("cannot make a temporary neighbour of '", path, "': others remove it");
}

Result<TemporaryPath> TemporaryPath::File(const std::string& path) { return Make(path, MakeFile); }

Result<TemporaryPath> TemporaryPath::Folder(const std::string& path) {
  return Make(path, MakeDirectories);
}

TemporaryPath::TemporaryPath(TemporaryPath&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}

TemporaryPath::~TemporaryPath() {
  if (!path_.empty()) RemoveTree(path_).IgnoreError();
}

Status TemporaryPath::RenameTo(const std::string& path) {
  HR_RETURN_IF_ERROR(RenamePath(path_, path));
  path_.clear();
  return {};
}

void RemoveIfAbandoned(const std::string& path) {
  const Result<FileLock> lock = FileLock::TryExisting(path);
  if (lock.ok()) RemoveTree(path).IgnoreError();
}

void RemoveAbandonedOf(const std::string& path) {
  const std::string directory(DirectoryOf(path));
  const Result<std::vector<std::string>> names = ListDirectory(directory);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (IsTemporaryOf(BaseName(path), name)) RemoveIfAbandoned(JoinPath(directory, name));
  }
}

}  // namespace hr
