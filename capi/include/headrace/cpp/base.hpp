// The exception for failures, the base class of handles, and the limits of calls.
#ifndef HEADRACE_CPP_BASE_HPP_
#define HEADRACE_CPP_BASE_HPP_

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "headrace/base.h"

namespace hr {
// Keeps these classes apart from those inside of a static libheadrace, which has its own
// hr::Tensor.
inline namespace cpp {

// A failed call. what() returns the code's name, the message, and the node if there is one.
class Error : public std::runtime_error {
 public:
  explicit Error(const hr_status& status)
      : std::runtime_error(text(&status)),
        code_(hr_status_code(&status)),
        node_(hr_status_node(&status)) {}
  // Takes over the status and releases it.
  explicit Error(hr_status* status) : Error(static_cast<const hr_status&>(*status)) {
    hr_status_release(status);
  }
  hr_code code() const { return code_; }
  // Returns what() without the code's name.
  const char* message() const { return what() + std::strlen(hr_code_name(code_)) + 2; }
  const std::string& node() const { return node_; }

 private:
  static std::string text(const hr_status* status) {
    std::string out =
        std::string(hr_code_name(hr_status_code(status))) + ": " + hr_status_message(status);
    if (*hr_status_node(status) != '\0')
      out += " (node '" + std::string(hr_status_node(status)) + "')";
    return out;
  }
  hr_code code_;
  std::string node_;
};

// Throws the failure that `status` is; NULL is success.
inline void check(hr_status* status) {
  if (status != nullptr) throw Error(status);
}

namespace detail {

template <typename T, void (*Release)(T*)>
class Handle {
 public:
  T* get() const { return handle_.get(); }
  explicit operator bool() const { return handle_ != nullptr; }
  // Returns the handle, which the caller has to release.
  T* release() { return handle_.release(); }

 protected:
  Handle() = default;
  explicit Handle(T* handle) : handle_(handle) {}

 private:
  struct Deleter {
    void operator()(T* handle) const { Release(handle); }
  };
  std::unique_ptr<T, Deleter> handle_;
};

// Calls a C function and returns what it gives through its last argument.
template <typename Out, typename... Parameters, typename... Arguments>
Out made(hr_status* (*function)(Parameters...), Arguments... arguments) {
  Out out{};
  check(function(arguments..., &out));
  return out;
}

inline std::string take(hr_text* text) {
  std::string out(hr_text_data(text), hr_text_size(text));
  hr_text_release(text);
  return out;
}

template <typename... Parameters, typename... Arguments>
std::string text_of(hr_status* (*function)(Parameters...), Arguments... arguments) {
  return take(made<hr_text*>(function, arguments...));
}

inline std::vector<const char*> pointers(const std::vector<std::string>& names) {
  std::vector<const char*> out;
  out.reserve(names.size());
  for (const std::string& name : names) out.push_back(name.c_str());
  return out;
}

inline const char* or_null(const std::string& text) {
  return text.empty() ? nullptr : text.c_str();
}

// Returns the exception that is being handled as a status, for functions that the library calls.
inline hr_status* status_of_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return hr_status_create(error.code(), error.message());
  } catch (const std::bad_alloc& error) {
    return hr_status_create(HR_RESOURCE_EXHAUSTED, error.what());
  } catch (const std::exception& error) {
    return hr_status_create(HR_UNKNOWN, error.what());
  } catch (...) {
    return hr_status_create(HR_UNKNOWN, "an exception that is no std::exception");
  }
}

// A function that the library calls once, when the last user of an object is gone.
using Release = std::function<void()>;
inline void call_release(void* context) noexcept {
  const std::unique_ptr<Release> release(static_cast<Release*>(context));
  (*release)();
}

}  // namespace detail

// A token that cancels the calls to which it was given; see hr_cancel.
class Cancel : public detail::Handle<hr_cancel, hr_cancel_release> {
 public:
  Cancel() : Handle(detail::made<hr_cancel*>(hr_cancel_create)) {}
  void trigger() { hr_cancel_trigger(get()); }
};

// Returns an hr_limits with its struct_size set.
inline hr_limits limits(int64_t timeout_nanos, const Cancel* cancel = nullptr) {
  hr_limits out{};
  out.struct_size = sizeof out;
  out.cancel = cancel == nullptr ? nullptr : cancel->get();
  out.timeout_nanos = timeout_nanos;
  return out;
}

}  // namespace cpp
}  // namespace hr

#endif  // HEADRACE_CPP_BASE_HPP_
