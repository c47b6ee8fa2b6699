#include "runtime/base/allocator.h"

#include <cstdlib>
#include <cstring>

#include "runtime/base/errors.h"

namespace hr {
namespace {

class MallocAllocator final : public Allocator {
 public:
  void* Allocate(size_t bytes, size_t alignment) override {
    size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    if (rounded < bytes) return nullptr;
    return std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  }
  void Deallocate(void* data, size_t, size_t) override { std::free(data); }
};

constinit MallocAllocator malloc_allocator;

}  // namespace

Allocator& SystemAllocator() { return malloc_allocator; }

Result<Block> Block::Create(Allocator& allocator, size_t bytes, size_t alignment) {
  Block block;
  block.data_ = allocator.Allocate(bytes, alignment);
  if (block.data_ == nullptr) {
    return ResourceExhausted("the allocator could not provide ", bytes,
                             " bytes; free memory or use a ", "smaller batch or model");
  }
  block.allocator_ = &allocator;
  block.bytes_ = bytes;
  block.alignment_ = alignment;
  return block;
}

Result<Block> Block::CreateZeroed(Allocator& allocator, size_t bytes) {
  HR_ASSIGN_OR_RETURN(Block block, Create(allocator, bytes));
  std::memset(block.data(), 0, bytes);
  return block;
}

Block& Block::operator=(Block&& other) noexcept {
  if (this == &other) return *this;
  Reset();
  allocator_ = std::exchange(other.allocator_, nullptr);
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  alignment_ = std::exchange(other.alignment_, 0);
  return *this;
}

void Block::Reset() {
  if (data_ != nullptr) allocator_->Deallocate(data_, bytes_, alignment_);
  data_ = nullptr;
  bytes_ = 0;
}

}  // namespace hr
