#include <charconv>
#include <condition_variable>
#include <map>
#include <mutex>

#include "runtime/comm/store.h"
#include "runtime/comm/store_values.h"

namespace hr::comm {
namespace {

// Tokens and the host's clock cannot wake a waiter, so it looks again.
constexpr auto kSlice = std::chrono::milliseconds(10);

class MemoryStore final : public Store {
 public:
  Status Set(std::string_view key, std::string_view value, const CallLimits&) override {
    HR_RETURN_IF_ERROR(CheckEntry(key, value));
    std::lock_guard lock(mutex_);
    Put(key, value);
    return {};
  }
  Result<std::optional<std::string>> TryGet(std::string_view key, const CallLimits&) override {
    std::lock_guard lock(mutex_);
    return Look(key);
  }
  Result<std::string> Get(std::string_view key, const CallLimits& limits) override {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (std::optional<std::string> value = Look(key)) return *std::move(value);
      if (Status status = limits.Check(); !status.ok()) {
        return std::move(status).WithContext(Cat("waiting for key '", key, "'"));
      }
      changed_.wait_for(lock, kSlice);
    }
  }
  Result<int64_t> Add(std::string_view key, int64_t delta, const CallLimits&) override {
    std::lock_guard lock(mutex_);
    HR_ASSIGN_OR_RETURN(const int64_t sum, AddToValue(key, Look(key), delta));
    Put(key, Cat(sum));
    return sum;
  }
  Result<std::string> CompareAndSwap(std::string_view key, std::optional<std::string_view> expected,
                                     std::string_view desired, const CallLimits&) override {
    HR_RETURN_IF_ERROR(CheckEntry(key, desired));
    std::lock_guard lock(mutex_);
    std::optional<std::string> held = Look(key);
    if (held != expected) return held.value_or("");
    Put(key, desired);
    return std::string(desired);
  }
  Status Delete(std::string_view key, const CallLimits&) override {
    std::lock_guard lock(mutex_);
    if (auto found = values_.find(key); found != values_.end()) values_.erase(found);
    return {};
  }
  std::string Describe() const override { return "memory store of this process"; }

 private:
  std::optional<std::string> Look(std::string_view key) const {
    auto found = values_.find(key);
    if (found == values_.end()) return std::nullopt;
    return found->second;
  }
  void Put(std::string_view key, std::string_view value) {
    values_.insert_or_assign(std::string(key), std::string(value));
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace

std::unique_ptr<Store> CreateMemoryStore() { return std::make_unique<MemoryStore>(); }

}  // namespace hr::comm
