#include "runtime/engine/prepared.h"

#include <algorithm>

namespace hr::engine {

Result<std::shared_ptr<Prepared>> PreparedPool::Get(Allocator& allocator, const PreparedKey& key,
                                                    size_t bytes) {
  std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) {
    if (entry.key == key) return entry.prepared;
  }
  auto prepared = std::make_shared<Prepared>();
  HR_ASSIGN_OR_RETURN(prepared->memory, Block::Create(allocator, bytes));
  const auto same_source = [&](const Entry& entry) {
    return entry.key.slot == key.slot && entry.key.offset == key.offset;
  };
  if (std::count_if(entries_.begin(), entries_.end(), same_source) == kMaxFormats) {
    entries_.erase(std::find_if(entries_.begin(), entries_.end(), same_source));
  }
  entries_.push_back({key, prepared});
  return prepared;
}

}  // namespace hr::engine
