#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include "runtime/base/file.h"
#include "runtime/base/host.h"
#include "runtime/base/wake_event.h"
#include "runtime/comm/store.h"
#include "runtime/comm/store_values.h"

namespace hr::comm {
namespace {

constexpr std::chrono::microseconds kFirstLookPause(50), kLastLookPause(20'000);

// A file name that says the key: letters, digits, '-' and '_' as they are, else %XX.
std::string FileNameOf(std::string_view key) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string name = "k.";
  for (unsigned char c : key) {
    if (std::isalnum(c) || c == '-' || c == '_') {
      name.push_back(static_cast<char>(c));
    } else {
      name += {'%', kHex[c >> 4], kHex[c & 15]};
    }
  }
  return name;
}

class FileStore final : public Store {
 public:
  explicit FileStore(std::string directory) : directory_(std::move(directory)) {}

  Status Set(std::string_view key, std::string_view value, const CallLimits& limits) override {
    HR_RETURN_IF_ERROR(CheckName(key, value));
    HR_ASSIGN_OR_RETURN(const Draft draft, Write(value));
    HR_ASSIGN_OR_RETURN(Descriptor lock, Lock(limits));
    return RenamePath(draft.path, PathOf(key));
  }
  Result<std::optional<std::string>> TryGet(std::string_view key, const CallLimits&) override {
    HR_RETURN_IF_ERROR(CheckName(key, ""));
    return Look(key);
  }
  Result<std::string> Get(std::string_view key, const CallLimits& limits) override {
    HR_RETURN_IF_ERROR(CheckName(key, ""));
    for (auto pause = kFirstLookPause;; pause = std::min(2 * pause, kLastLookPause)) {
      HR_ASSIGN_OR_RETURN(std::optional<std::string> value, Look(key));
      if (value.has_value()) return *std::move(value);
      if (Status status = limits.Check(); !status.ok()) {
        return std::move(status).WithContext(Cat("waiting for key '", key, "'"));
      }
      std::this_thread::sleep_for(pause);
    }
  }
  Result<int64_t> Add(std::string_view key, int64_t delta, const CallLimits& limits) override {
    HR_RETURN_IF_ERROR(CheckName(key, ""));
    HR_ASSIGN_OR_RETURN(Descriptor lock, Lock(limits));
    for (;;) {
      HR_ASSIGN_OR_RETURN(std::optional<std::string> held, Look(key));
      HR_ASSIGN_OR_RETURN(const int64_t sum, AddToValue(key, held, delta));
      HR_ASSIGN_OR_RETURN(const Draft draft, Write(Cat(sum)));
      if (held.has_value() || !links_) {
        HR_RETURN_IF_ERROR(RenamePath(draft.path, PathOf(key)));
        return sum;
      }
      HR_ASSIGN_OR_RETURN(const bool created, Create(key, draft));
      if (created) return sum;
    }
  }
  Result<std::string> CompareAndSwap(std::string_view key, std::optional<std::string_view> expected,
                                     std::string_view desired, const CallLimits& limits) override {
    HR_RETURN_IF_ERROR(CheckName(key, desired));
    HR_ASSIGN_OR_RETURN(const Draft draft, Write(desired));
    while (!expected.has_value() && links_) {
      HR_ASSIGN_OR_RETURN(const bool created, Create(key, draft));
      if (created) return std::string(desired);
      HR_ASSIGN_OR_RETURN(std::optional<std::string> held, Look(key));
      if (held.has_value()) return *std::move(held);
    }
    HR_ASSIGN_OR_RETURN(Descriptor lock, Lock(limits));
    HR_ASSIGN_OR_RETURN(std::optional<std::string> held, Look(key));
    if (held != expected) return held.value_or("");
    HR_RETURN_IF_ERROR(RenamePath(draft.path, PathOf(key)));
    return std::string(desired);
  }
  Status Delete(std::string_view key, const CallLimits& limits) override {
    HR_RETURN_IF_ERROR(CheckName(key, ""));
    HR_ASSIGN_OR_RETURN(Descriptor lock, Lock(limits));
    const std::string path = PathOf(key);
    return FileExists(path) ? RemoveFile(path) : Status();
  }
  std::string Describe() const override { return Cat("file store ", directory_); }
  std::string Url() const override { return Cat("file:", directory_); }

 private:
  static Status CheckName(std::string_view key, std::string_view value) {
    HR_RETURN_IF_ERROR(CheckEntry(key, value));
    if (FileNameOf(key).size() <= 255) return {};
    return InvalidArgument("key '", key, "' is too long for a file name");
  }
  std::string PathOf(std::string_view key) const { return JoinPath(directory_, FileNameOf(key)); }

  // A value in a file of its own. Not synced: no group outlives the machine that fails.
  struct Draft {
    explicit Draft(std::string where) : path(std::move(where)) {}
    Draft(Draft&& other) noexcept : path(std::exchange(other.path, "")) {}
    ~Draft() {
      if (!path.empty()) ::unlink(path.c_str());
    }
    std::string path;
  };
  Result<Draft> Write(std::string_view value) const {
    Draft draft(JoinPath(directory_, Cat("draft.", UniqueBits())));
    HR_ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Create(draft.path));
    HR_RETURN_IF_ERROR(writer.Write(AsBytes(value)));
    HR_RETURN_IF_ERROR(writer.Close());
    return draft;
  }
  // Gives the key a value if it has none, in one step and without the lock: ranks meet, and
  // agree on who failed, also while a process that holds it is stopped. False if it has one, or
  // if the file system has no links and the lock is needed.
  Result<bool> Create(std::string_view key, const Draft& draft) {
    const std::string path = PathOf(key);
    if (::link(draft.path.c_str(), path.c_str()) == 0) return true;
    if (errno == EEXIST) return false;
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS) {
      return Unavailable("cannot create ", path, ": ", std::strerror(errno));
    }
    links_ = false;
    return false;
  }

  // Held until the descriptor is closed, also by the death of the process.
  Result<Descriptor> Lock(const CallLimits& limits) const {
    const std::string path = JoinPath(directory_, "lock");
    Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!file.valid()) return NoLock(path);
    // A process that is frozen while it holds the lock must not stop the others for good.
    for (auto pause = kFirstLookPause; ::flock(file.get(), LOCK_EX | LOCK_NB) != 0;
         pause = std::min(2 * pause, kLastLookPause)) {
      if (errno != EWOULDBLOCK && errno != EINTR) return NoLock(path);
      if (Status status = limits.Check(); !status.ok()) {
        return std::move(status).WithContext(
            Cat("another process, perhaps one that is stopped, keeps ", path, " locked"));
      }
      std::this_thread::sleep_for(pause);
    }
    return file;
  }
  static Status NoLock(const std::string& path) {
    const bool exhausted = errno == EMFILE || errno == ENFILE || errno == ENOMEM;
    return Status(exhausted ? Code::kResourceExhausted : Code::kUnavailable,
                  Cat("cannot lock ", path, ": ", std::strerror(errno)));
  }
  Result<std::optional<std::string>> Look(std::string_view key) const {
    const std::string path = PathOf(key);
    if (!FileExists(path)) return std::optional<std::string>();
    Result<std::string> value = ReadFile(path);
    if (value.ok()) return std::optional<std::string>(std::move(value).value());
    if (!FileExists(path)) return std::optional<std::string>();  // deleted meanwhile
    return std::move(value).status();
  }

  const std::string directory_;
  std::atomic<bool> links_{true};  // the file system has them
};

}  // namespace

Result<std::unique_ptr<Store>> CreateFileStore(const std::string& directory) {
  HR_RETURN_IF_ERROR(MakeDirectories(directory));
  return std::make_unique<FileStore>(directory);
}

}  // namespace hr::comm
