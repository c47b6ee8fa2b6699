// Memory that is made of constants and variables before a run, such as packed weights. The programs
// of one region at several sizes share it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/base/allocator.h"

namespace hr::engine {

// What it is made of, and how it lies: equal where the contents are.
struct PreparedKey {
  uint32_t slot = 0;
  size_t offset = 0;  // in the slot
  std::string format;
  friend bool operator==(const PreparedKey&, const PreparedKey&) = default;
};

struct Prepared {
  Block memory;
  uint64_t version =
      0;  // RunContext::variables_version + 1 of the contents; see PreparedPool::Lock
};

// Thread-safe.
class PreparedPool {
 public:
  // The memory with this key, made where the pool does not know it.
  Result<std::shared_ptr<Prepared>> Get(Allocator& allocator, const PreparedKey& key, size_t bytes);
  // For reading versions and making contents. Runs at one time have one version of the variables,
  // so whoever comes first makes them for all.
  std::unique_lock<std::mutex> Lock() { return std::unique_lock(mutex_); }

 private:
  // It stays known when the programs that use it are gone, but only the last ones of each source.
  static constexpr ptrdiff_t kMaxFormats = 3;
  struct Entry {
    PreparedKey key;
    std::shared_ptr<Prepared> prepared;
  };
  std::mutex mutex_;
  std::vector<Entry> entries_;  // oldest first
};

}  // namespace hr::engine
