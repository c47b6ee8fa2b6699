// Result<T>: a T, or the Status that says why there is none.
//
//   Result<int> ParsePort(std::string_view text);
//
//   Status Connect(std::string_view text) {
//     HR_ASSIGN_OR_RETURN(int port, ParsePort(text));
//     ...
//   }
#pragma once

#include <cassert>
#include <optional>
#include <type_traits>
#include <utility>

#include "runtime/base/status.h"

namespace hr {

template <typename T>
class [[nodiscard]] Result {
 public:
  template <typename U = T>
  requires std::is_convertible_v<U&&, T> Result(U&& value)
      : value_(std::forward<U>(value)) {}  // NOLINT: implicit on purpose
  // `status` must be a failure.
  Result(Status status) : status_(std::move(status)) { assert(!status_.ok()); }  // NOLINT

  bool ok() const { return value_.has_value(); }

  const Status& status() const& { return status_; }
  Status status() && { return std::move(status_); }

  // Only when ok().
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T value() && { return *std::move(value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace hr
