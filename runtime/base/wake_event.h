// Something a thread can sleep on with poll(): an eventfd if there is one, else a pipe.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/result.h"

namespace hr {

// A descriptor that closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Set() makes handle() readable until Clear(). Set() may be called from any thread, and through a
// duplicate of set_handle() from any process.
class WakeEvent {
 public:
  static Result<WakeEvent> Create();
  void Set() const { Set(set_handle()); }
  void Clear() const;
  int handle() const { return read_.get(); }
  int set_handle() const { return write_.valid() ? write_.get() : read_.get(); }
  // Sets the event behind another's set_handle().
  static void Set(int set_handle);
  // False if a descriptor that came from another process is certainly none.
  static bool IsOne(int set_handle);

 private:
  Descriptor read_;
  Descriptor write_;  // of a pipe
};

// Waits until one of `handles` is readable, or for `timeout_nanos` (negative: for ever).
void WaitReadable(std::span<const int> handles, int64_t timeout_nanos);

}  // namespace hr
