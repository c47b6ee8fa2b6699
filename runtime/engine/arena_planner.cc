#include "runtime/engine/arena_planner.h"

#include <algorithm>
#include <numeric>

#include "runtime/base/allocator.h"

namespace hr::engine {

size_t AlignedInArena(size_t bytes) {
  return (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}

ArenaLayout PlanArena(std::span<const Lifetime> lifetimes) {
  ArenaLayout layout;
  layout.offsets.assign(lifetimes.size(), 0);
  std::vector<uint32_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
  std::vector<uint32_t> placed;  // by offset
  for (uint32_t id : order) {
    const Lifetime& buffer = lifetimes[id];
    size_t bytes = AlignedInArena(buffer.bytes);
    size_t offset = 0;
    for (uint32_t other : placed) {
      const Lifetime& neighbour = lifetimes[other];
      if (neighbour.last < buffer.first || buffer.last < neighbour.first) continue;
      if (offset + bytes <= layout.offsets[other]) break;  // the gap before it is wide enough
      offset = std::max(offset, layout.offsets[other] + AlignedInArena(neighbour.bytes));
    }
    layout.offsets[id] = offset;
    if (offset + bytes < buffer.bytes) {  // beyond what a size can tell
      layout.bytes = SIZE_MAX;
      return layout;
    }
    layout.bytes = std::max(layout.bytes, offset + bytes);
    auto at = std::upper_bound(placed.begin(), placed.end(), offset,
                               [&](size_t value, uint32_t p) { return value < layout.offsets[p]; });
    placed.insert(at, id);
  }
  return layout;
}

}  // namespace hr::engine
