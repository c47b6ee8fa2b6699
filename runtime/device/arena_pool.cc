#include "runtime/device/arena_pool.h"

#include <algorithm>
#include <mutex>

namespace hr {

ArenaPool::ArenaPool(Allocator& allocator, int most) : allocator_(allocator) {
  idle_.reserve(static_cast<size_t>(most));
}

Block ArenaPool::TakeIdle(size_t bytes, const void* last) {
  std::lock_guard lock(mutex_);
  if (idle_.empty()) return {};
  const auto fits = [bytes](const Block& block) { return block.bytes() >= bytes; };
  size_t best = 0;
  for (size_t i = 0; i < idle_.size(); ++i) {
    if (fits(idle_[i]) && idle_[i].data() == last) {
      best = i;
      break;
    }
    // The smallest of those that are large enough; the largest if none is.
    const bool smaller = idle_[i].bytes() < idle_[best].bytes();
    if (fits(idle_[i]) ? smaller || !fits(idle_[best]) : !fits(idle_[best]) && !smaller) best = i;
  }
  Block taken = std::move(idle_[best]);
  idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(best));
  return taken;
}

Result<Block> ArenaPool::Take(size_t bytes, const void* last) {
  Block taken = TakeIdle(bytes, last);
  if (taken.data() != nullptr && taken.bytes() >= bytes) return taken;
  taken.Reset();  // before there is a larger one
  return Block::Create(allocator_, bytes);
}

void ArenaPool::Put(Block block) {
  std::lock_guard lock(mutex_);
  if (!closed_ && idle_.size() < idle_.capacity()) idle_.push_back(std::move(block));
}

void ArenaPool::Clear() {
  std::vector<Block> freed;  // outside of the lock
  std::lock_guard lock(mutex_);
  freed.reserve(idle_.size());
  std::move(idle_.begin(), idle_.end(), std::back_inserter(freed));
  idle_.clear();
}

void ArenaPool::Close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  Clear();
}

size_t ArenaPool::idle_bytes() const {
  std::lock_guard lock(mutex_);
  size_t bytes = 0;
  for (const Block& block : idle_) bytes += block.bytes();
  return bytes;
}

}  // namespace hr
