// A small key-value store through which the ranks of a group find each other and agree.
// Thread-safe. Calls that wait do so within `limits`. If the store cannot be reached, calls fail
// with UNAVAILABLE.
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
  // Returns the value; null if there is no such key.
  virtual Result<std::optional<std::string>> TryGet(std::string_view key,
                                                    const CallLimits& limits) = 0;
  // Waits until the key exists and returns its value.
  virtual Result<std::string> Get(std::string_view key, const CallLimits& limits) = 0;
  // Adds to the decimal number under the key (0 if the key does not exist) and returns the sum.
  // FAILED_PRECONDITION if the value is not a number.
  virtual Result<int64_t> Add(std::string_view key, int64_t delta, const CallLimits& limits) = 0;
  // Sets the key to `desired` if its value is `expected`, or if `expected` is null and the key does
  // not exist. Returns the value afterwards. It is `desired` if and only if this call, or another
  // one with the same `desired`, has set it.
  virtual Result<std::string> CompareAndSwap(std::string_view key,
                                             std::optional<std::string_view> expected,
                                             std::string_view desired,
                                             const CallLimits& limits) = 0;
  // Removes the key. OK even if there is no such key.
  virtual Status Delete(std::string_view key, const CallLimits& limits) = 0;
  // Returns a name for messages, such as "file store /tmp/x".
  virtual std::string Describe() const = 0;
  // Returns the URL with which other processes open the store; empty if they cannot.
  virtual std::string Url() const { return ""; }
  // Returns whether the store ends for all processes when this object is destroyed.
  virtual bool kept_here() const { return false; }
};

// Creates a store in memory, for threads of one process or for the server of a remote store. Calls
// fail with RESOURCE_EXHAUSTED if keys and values would have more than `most_bytes` bytes.
std::unique_ptr<Store> CreateMemoryStore(size_t most_bytes = SIZE_MAX);

// Creates a store that keeps each key in a file of `directory`, which all ranks must be able to
// access; it is created if it is missing. Changes are made under a lock file, so a network file
// system must support locks.
Result<std::unique_ptr<Store>> CreateFileStore(const std::string& directory);

}  // namespace hr::comm
