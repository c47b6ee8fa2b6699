#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>

#include "runtime/comm/store.h"
#include "runtime/comm/store_values.h"

namespace hr::comm {
namespace {

// Deadlines may be on the host's clock, so sleeps are cut.
constexpr int64_t kLookAgainNanos = 100'000'000;

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(size_t most_bytes) : most_bytes_(most_bytes) {}

  Status Set(std::string_view key, std::string_view value, const CallLimits&) override {
    HR_RETURN_IF_ERROR(CheckEntry(key, value));
    std::lock_guard lock(mutex_);
    return Put(key, value);
  }
  Result<std::optional<std::string>> TryGet(std::string_view key, const CallLimits&) override {
    HR_RETURN_IF_ERROR(CheckEntry(key, ""));
    std::lock_guard lock(mutex_);
    return Look(key);
  }
  Result<std::string> Get(std::string_view key, const CallLimits& limits) override {
    HR_RETURN_IF_ERROR(CheckEntry(key, ""));
    const CancelWake wake(
        limits.cancel, [](void* self) { static_cast<MemoryStore*>(self)->WakeAll(); }, this);
    std::unique_lock lock(mutex_);
    for (;;) {
      if (std::optional<std::string> value = Look(key)) return *std::move(value);
      if (Status status = limits.Check(); !status.ok()) {
        return std::move(status).WithContext(Cat("waiting for key '", key, "'"));
      }
      changed_.wait_for(lock, std::chrono::nanoseconds(limits.SleepNanos(kLookAgainNanos)));
    }
  }
  Result<int64_t> Add(std::string_view key, int64_t delta, const CallLimits&) override {
    std::lock_guard lock(mutex_);
    HR_ASSIGN_OR_RETURN(const int64_t sum, AddToValue(key, Look(key), delta));
    HR_RETURN_IF_ERROR(Put(key, Cat(sum)));
    return sum;
  }
  Result<std::string> CompareAndSwap(std::string_view key, std::optional<std::string_view> expected,
                                     std::string_view desired, const CallLimits&) override {
    HR_RETURN_IF_ERROR(CheckEntry(key, desired));
    std::lock_guard lock(mutex_);
    std::optional<std::string> held = Look(key);
    if (held != expected) return held.value_or("");
    HR_RETURN_IF_ERROR(Put(key, desired));
    return std::string(desired);
  }
  Status Delete(std::string_view key, const CallLimits&) override {
    HR_RETURN_IF_ERROR(CheckEntry(key, ""));
    std::lock_guard lock(mutex_);
    if (auto found = values_.find(key); found != values_.end()) {
      bytes_ -= key.size() + found->second.size();
      values_.erase(found);
    }
    return {};
  }
  std::string Describe() const override { return "memory store of this process"; }

 private:
  std::optional<std::string> Look(std::string_view key) const {
    auto found = values_.find(key);
    if (found == values_.end()) return std::nullopt;
    return found->second;
  }
  Status Put(std::string_view key, std::string_view value) {
    const auto found = values_.find(key);
    const size_t before = found == values_.end() ? 0 : key.size() + found->second.size();
    const size_t after = key.size() + value.size();
    if (after > before && after - before > most_bytes_ - bytes_) {
      return ResourceExhausted("the store is full: it holds ", bytes_, " bytes of ", most_bytes_);
    }
    bytes_ += after - before;
    values_.insert_or_assign(std::string(key), std::string(value));
    changed_.notify_all();
    return {};
  }
  void WakeAll() {
    std::lock_guard lock(mutex_);
    changed_.notify_all();
  }

  const size_t most_bytes_;
  size_t bytes_ = 0;  // of keys and values
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace

std::unique_ptr<Store> CreateMemoryStore(size_t most_bytes) {
  return std::make_unique<MemoryStore>(most_bytes);
}

}  // namespace hr::comm
