// A small key-value store through which the ranks of a group find each other and agree. Every call
// may be made from any thread; those that wait do so within `limits`. A store that cannot be
// reached is UNAVAILABLE.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/cancel.h"
#include "runtime/base/result.h"

namespace hr::comm {

inline constexpr size_t kMaxStoreKey = 512;
inline constexpr size_t kMaxStoreValue = 1 << 20;

class Store {
 public:
  virtual ~Store() = default;

  virtual Status Set(std::string_view key, std::string_view value, const CallLimits& limits) = 0;
  // Null where there is no such key.
  virtual Result<std::optional<std::string>> TryGet(std::string_view key,
                                                    const CallLimits& limits) = 0;
  // Waits until the key exists.
  virtual Result<std::string> Get(std::string_view key, const CallLimits& limits) = 0;
  // Adds to a decimal number, which is 0 where the key does not exist, and returns the sum.
  // FAILED_PRECONDITION where the value is no number.
  virtual Result<int64_t> Add(std::string_view key, int64_t delta, const CallLimits& limits) = 0;
  // Sets the key to `desired` if it holds `expected` (null: if it does not exist). Returns what it
  // holds afterwards: `desired` exactly where this call, or one like it, won.
  virtual Result<std::string> CompareAndSwap(std::string_view key,
                                             std::optional<std::string_view> expected,
                                             std::string_view desired,
                                             const CallLimits& limits) = 0;
  // OK also where there is no such key.
  virtual Status Delete(std::string_view key, const CallLimits& limits) = 0;
  // For messages: "file store /tmp/x".
  virtual std::string Describe() const = 0;
  // What another process opens to share it; empty where none can.
  virtual std::string Url() const { return ""; }
  // Whether it is gone for all processes when this object is.
  virtual bool kept_here() const { return false; }
};

// For threads of one process, and what the server of a remote store keeps. RESOURCE_EXHAUSTED where
// keys and values would be more than `most_bytes`.
std::unique_ptr<Store> CreateMemoryStore(size_t most_bytes = SIZE_MAX);

// A file a key in `directory`, which all ranks see; it is created where it is missing. Changes are
// made under a lock file, so a network file system must support locks.
Result<std::unique_ptr<Store>> CreateFileStore(const std::string& directory);

}  // namespace hr::comm
