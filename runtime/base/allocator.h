// The allocator of tensors, arenas, plans' buffers and file structures: the host's if it has given
// one. If it returns null, the caller fails with RESOURCE_EXHAUSTED; nothing aborts.
#pragma once

#include <cstddef>
#include <utility>

#include "runtime/base/result.h"

namespace hr {

// Thread-safe. Implementations return null on failure and never throw.
class Allocator {
 public:
  // `alignment` is a power of two. `bytes` may be 0.
  virtual void* Allocate(size_t bytes, size_t alignment) = 0;
  virtual void Deallocate(void* data, size_t bytes, size_t alignment) = 0;
  // Tensors may outlive whoever owns the allocator: it must live until each Retain has its Release.
  virtual void Retain() {}
  virtual void Release() {}

 protected:
  ~Allocator() = default;  // trivial: the system's own lives without code before main
};

// malloc and free. It has no state, so there is one.
Allocator& SystemAllocator();

// Alignment of every tensor and arena: a cache line, and an AVX-512 vector.
inline constexpr size_t kTensorAlignment = 64;

// A piece of memory that goes back to its allocator. Its address never changes.
class Block {
 public:
  Block() = default;
  static Result<Block> Create(Allocator& allocator, size_t bytes,
                              size_t alignment = kTensorAlignment);
  // As Create, filled with zero bytes.
  static Result<Block> CreateZeroed(Allocator& allocator, size_t bytes);

  Block(Block&& other) noexcept { *this = std::move(other); }
  Block& operator=(Block&& other) noexcept;
  ~Block() { Reset(); }

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  std::byte* begin() const { return static_cast<std::byte*>(data_); }
  void Reset();

 private:
  Allocator* allocator_ = nullptr;
  void* data_ = nullptr;
  size_t bytes_ = 0;
  size_t alignment_ = 0;
};

}  // namespace hr
