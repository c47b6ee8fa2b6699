#include "runtime/engine/memory_check.h"

#include <cstring>
#include <iterator>

namespace hr::engine {

void ArenaOwners::Split(size_t offset) {
  const auto behind = pieces_.upper_bound(offset);
  pieces_.try_emplace(offset, std::prev(behind)->second);
}

void ArenaOwners::Write(ArenaRange range, uint32_t owner) {
  if (range.bytes == 0) return;
  const size_t end = range.offset + range.bytes;
  Split(range.offset);
  Split(end);
  pieces_.erase(pieces_.upper_bound(range.offset), pieces_.find(end));
  pieces_[range.offset] = owner;
}

bool ArenaOwners::Owns(ArenaRange range, uint32_t owner) const {
  if (range.bytes == 0) return true;
  const size_t end = range.offset + range.bytes;
  for (auto piece = std::prev(pieces_.upper_bound(range.offset));
       piece != pieces_.end() && piece->first < end; ++piece) {
    if (piece->second != owner) return false;
  }
  return true;
}

void PoisonArena(std::byte* arena, std::span<const ArenaRange> ranges) {
  for (const ArenaRange& range : ranges) std::memset(arena + range.offset, kPoison, range.bytes);
}

}  // namespace hr::engine
