#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "runtime/base/errors.h"
#include "runtime/base/file.h"
#include "runtime/base/wake_event.h"

namespace hr {
namespace {

Status FromErrno(std::string_view action, const std::string& path) {
  int error = errno;
  std::string text = Cat("cannot ", action, " '", path, "': ", std::strerror(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR: return NotFound(text);
    case EEXIST:
    case ENOTEMPTY: return AlreadyExists(text);
    case EACCES:
    case EPERM:
    case EROFS: return PermissionDenied(text);
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return ResourceExhausted(text, "; free space or choose another folder");
    case ENOMEM:
    case EMFILE:
    case ENFILE: return ResourceExhausted(text);
    default: return Unavailable(text);
  }
}

Result<int64_t> RegularFileSize(int fd, const std::string& path) {
  struct stat info;
  if (fstat(fd, &info) != 0) return FromErrno("read", path);
  if (S_ISDIR(info.st_mode)) return InvalidArgument("'", path, "' is a folder, expected a file");
  return static_cast<int64_t>(info.st_size);
}

// Never waits for the other end of a pipe. Nothing but regular files can be mapped or read at
// offsets.
Result<int> OpenRegular(const std::string& path) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return FromErrno("open", path);
  struct stat info;
  if (fstat(fd, &info) == 0 && (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode))) return fd;
  close(fd);
  return InvalidArgument("'", path, "' is a pipe or device, expected a regular file");
}

}  // namespace

Result<MappedFile> MappedFile::Open(const std::string& path) {
  HR_ASSIGN_OR_RETURN(int opened, OpenRegular(path));
  Descriptor fd(opened);
  HR_ASSIGN_OR_RETURN(int64_t size, RegularFileSize(fd.get(), path));
  MappedFile file;
  if (size == 0) return file;
  void* data = mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_NORESERVE, fd.get(), 0);
  if (data == MAP_FAILED) return FromErrno("map", path);
  file.bytes_ = {static_cast<std::byte*>(data), static_cast<size_t>(size)};
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

void MappedFile::Forget(size_t offset, size_t bytes) const {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t begin = (offset + page - 1) / page * page;
  const size_t end = std::min(offset + bytes, bytes_.size()) / page * page;
  if (begin < end) madvise(bytes_.data() + begin, end - begin, MADV_DONTNEED);
}

Result<FileReader> FileReader::Open(const std::string& path) {
  FileReader reader;
  HR_ASSIGN_OR_RETURN(reader.fd_, OpenRegular(path));
  HR_ASSIGN_OR_RETURN(reader.size_, RegularFileSize(reader.fd_, path));
  reader.path_ = path;
  return reader;
}

FileReader::FileReader(FileReader&& other) noexcept { *this = std::move(other); }

FileReader& FileReader::operator=(FileReader&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  std::swap(path_, other.path_);
  return *this;
}

FileReader::~FileReader() {
  if (fd_ >= 0) close(fd_);
}

Status FileReader::ReadAt(int64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    ssize_t n = pread(fd_, out.data(), out.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FromErrno("read", path_);
    if (n == 0)
      return DataLoss("'", path_, "' ended while it was read; was it cut short meanwhile?");
    out = out.subspan(static_cast<size_t>(n));
    offset += n;
  }
  return {};
}

Result<std::string> ReadFile(const std::string& path, size_t most_bytes) {
  Descriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return FromErrno("open", path);
  HR_ASSIGN_OR_RETURN(int64_t size, RegularFileSize(fd.get(), path));
  if (static_cast<size_t>(size) > most_bytes) {
    return DataLoss("'", path, "' has ", size, " bytes, expected at most ", most_bytes);
  }
  std::string contents(static_cast<size_t>(size), '\0');
  size_t done = 0;
  while (true) {
    if (done == contents.size()) contents.resize(contents.size() + 4096);  // it may have grown
    ssize_t n = read(fd.get(), contents.data() + done, contents.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FromErrno("read", path);
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  contents.resize(done);
  return contents;
}

Result<int64_t> FileSize(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return FromErrno("read", path);
  return static_cast<int64_t>(info.st_size);
}

Result<FileStamp> StampOf(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return FromErrno("read", path);
  return FileStamp{
      .bytes = info.st_size,
      .modified_nanos = int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec,
      .directory = S_ISDIR(info.st_mode)};
}

Result<FileLock> FileLock::Try(const std::string& path) {
  return Take(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666), path);
}

Result<FileLock> FileLock::TryExisting(const std::string& path) {
  return Take(open(path.c_str(), O_RDONLY | O_CLOEXEC), path);
}

Result<FileLock> FileLock::Take(int fd, const std::string& path) {
  if (fd < 0) return FromErrno("open", path);
  FileLock lock(fd);
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno == EWOULDBLOCK) return Unavailable("somebody else has the lock '", path, "'");
  return Unimplemented("cannot lock '", path, "': ", std::strerror(errno));
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock::~FileLock() {
  if (fd_ >= 0) close(fd_);
}

bool FileExists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

Result<std::vector<std::string>> ListDirectory(const std::string& path) {
  DIR* directory = opendir(path.c_str());
  if (directory == nullptr) return FromErrno("list", path);
  std::vector<std::string> names;
  while (dirent* entry = readdir(directory)) {
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  closedir(directory);
  std::sort(names.begin(), names.end());
  return names;
}

Status MakeDirectories(const std::string& path) {
  for (size_t end = 1; end <= path.size(); ++end) {
    if (end != path.size() && path[end] != '/') continue;
    std::string prefix = path.substr(0, end);
    if (mkdir(prefix.c_str(), 0777) != 0 && errno != EEXIST) {
      return FromErrno("make the folder", prefix);
    }
  }
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return FromErrno("make the folder", path);
  if (!S_ISDIR(info.st_mode)) return AlreadyExists("'", path, "' exists and is not a folder");
  return {};
}

Status RemoveFile(const std::string& path) {
  if (unlink(path.c_str()) != 0) return FromErrno("remove", path);
  return {};
}

Status RemoveTree(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) return FromErrno("remove", path);
  if (!S_ISDIR(info.st_mode)) return RemoveFile(path);
  HR_ASSIGN_OR_RETURN(auto&& names, ListDirectory(path));
  for (const std::string& name : names) HR_RETURN_IF_ERROR(RemoveTree(JoinPath(path, name)));
  if (rmdir(path.c_str()) != 0) return FromErrno("remove", path);
  return {};
}

Status RenamePath(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0) return FromErrno(Cat("rename '", from, "' to"), to);
  return {};
}

Status SyncDirectory(const std::string& path) {
  Descriptor fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0 || fsync(fd.get()) != 0) return FromErrno("sync the folder", path);
  return {};
}

Result<FileWriter> FileWriter::Create(const std::string& path, Mode mode) {
  FileWriter writer;
  const int how = mode == Mode::kAppend ? O_APPEND : mode == Mode::kNew ? O_EXCL : O_TRUNC;
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | how;
  writer.fd_ = open(path.c_str(), flags, 0666);
  if (writer.fd_ < 0) return FromErrno("create", path);
  writer.path_ = path;
  if (mode == Mode::kAppend) writer.offset_ = lseek(writer.fd_, 0, SEEK_END);
  return writer;
}

FileWriter::FileWriter(FileWriter&& other) noexcept { *this = std::move(other); }

FileWriter& FileWriter::operator=(FileWriter&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(offset_, other.offset_);
  std::swap(path_, other.path_);
  return *this;
}

FileWriter::~FileWriter() { Close().IgnoreError(); }

Status FileWriter::Write(Bytes bytes) {
  while (!bytes.empty()) {
    ssize_t n = write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FromErrno("write to", path_);
    bytes = bytes.subspan(static_cast<size_t>(n));
    offset_ += n;
  }
  return {};
}

Status FileWriter::WriteAt(int64_t offset, Bytes bytes) {
  while (!bytes.empty()) {
    ssize_t n = pwrite(fd_, bytes.data(), bytes.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FromErrno("write to", path_);
    bytes = bytes.subspan(static_cast<size_t>(n));
    offset += n;
  }
  return {};
}

Status FileWriter::Sync() {
  if (fsync(fd_) != 0) return FromErrno("sync", path_);
  return {};
}

Status FileWriter::Close() {
  int fd = std::exchange(fd_, -1);
  if (fd >= 0 && close(fd) != 0 && errno != EINTR) return FromErrno("close", path_);
  return {};
}

}  // namespace hr
