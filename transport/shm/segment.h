// Memory that two processes share by passing its descriptor.
#pragma once

#include "runtime/base/file.h"
#include "runtime/base/wake_event.h"

namespace hr::shm {

class Segment {
 public:
  // Zeroed memory, reserved now: RESOURCE_EXHAUSTED here, and never a signal later. Its size is
  // sealed.
  static Result<Segment> Create(size_t bytes);
  // Maps a segment of a peer. DATA_LOSS if it has not this size, or is not sealed, so that the
  // peer could make this process fault by cutting it.
  static Result<Segment> Map(Descriptor memory, size_t bytes);

  Segment() = default;
  Segment(Segment&& other) noexcept
      : bytes_(std::exchange(other.bytes_, {})), memory_(std::move(other.memory_)) {}
  Segment& operator=(Segment&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~Segment();

  std::byte* data() const { return bytes_.data(); }
  int descriptor() const { return memory_.get(); }
  // The mapping stays.
  void CloseDescriptor() { memory_ = Descriptor(); }

 private:
  std::span<std::byte> bytes_;
  Descriptor memory_;
};

}  // namespace hr::shm
