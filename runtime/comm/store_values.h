// What all stores check about their entries.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/errors.h"
#include "runtime/comm/store.h"

namespace hr::comm {

inline Status CheckEntry(std::string_view key, std::string_view value) {
  if (key.empty() || key.size() > kMaxStoreKey) {
    return InvalidArgument("expected a key of 1 to ", kMaxStoreKey, " bytes, got ", key.size());
  }
  if (value.size() > kMaxStoreValue) {
    return InvalidArgument("key '", key, "': expected a value of at most ", kMaxStoreValue,
                           " bytes, got ", value.size());
  }
  return {};
}

// The number that Add stores. Wraps around.
inline Result<int64_t> AddToValue(std::string_view key, const std::optional<std::string>& held,
                                  int64_t delta) {
  HR_RETURN_IF_ERROR(CheckEntry(key, ""));
  int64_t number = 0;
  if (held.has_value()) {
    const char* end = held->data() + held->size();
    if (auto [at, error] = std::from_chars(held->data(), end, number);
        error != std::errc() || at != end) {
      return FailedPrecondition("key '", key, "' contains '", held->substr(0, 40),
                                "', not a number");
    }
  }
  return static_cast<int64_t>(static_cast<uint64_t>(number) + static_cast<uint64_t>(delta));
}

}  // namespace hr::comm
