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
#include <new>
#include <type_traits>
#include <utility>

#include "runtime/base/status.h"

namespace hr {

template <typename T>
class [[nodiscard]] Result {
 public:
  template <typename U = T>
  requires std::is_convertible_v<U&&, T> Result(U&& value)
      : has_value_(true), value_(std::forward<U>(value)) {}  // NOLINT: implicit on purpose
  // `status` must be a failure.
  Result(Status status) : status_(std::move(status)) { assert(!status_.ok()); }  // NOLINT
  Result(Result&& other) noexcept
      : status_(std::move(other.status_)), has_value_(other.has_value_) {
    if (has_value_) new (&value_) T(std::move(other.value_));
  }
  Result& operator=(Result&& other) noexcept {
    this->~Result();
    return *new (this) Result(std::move(other));
  }
  ~Result() {
    if (has_value_) value_.~T();
  }

  bool ok() const { return has_value_; }

  const Status& status() const& { return status_; }
  Status status() && { return std::move(status_); }

  // Only when ok().
  T& value() & { return value_; }
  const T& value() const& { return value_; }
  T value() && { return std::move(value_); }
  // For the macros, whose Result lives as long as what refers into it.
  T&& Take() { return std::move(value_); }
  T& operator*() & { return value_; }
  const T& operator*() const& { return value_; }
  T* operator->() { return &value_; }
  const T* operator->() const { return &value_; }

 private:
  Status status_;
  const bool has_value_ = false;
  union {
    T value_;
  };
};

}  // namespace hr
