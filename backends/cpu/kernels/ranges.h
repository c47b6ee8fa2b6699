// How kernels cut a list of independent pieces of work for threads. The number of ranges is chosen
// when a kernel is prepared, from the shape and the planned threads alone.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backends/cpu/kernels/partition.h"
#include "runtime/base/executor.h"

namespace hr::cpu {

// A range below this many elements of streaming work costs more to hand out than it saves.
inline constexpr int64_t kRangeGrain = 65536;

// How many ranges to cut `items` pieces into that cost as much as streaming over `cost` elements
// each.
inline int RangeCount(int64_t items, int64_t cost, int slices) {
  const double grains = static_cast<double>(items) * static_cast<double>(cost) / kRangeGrain;
  const int64_t most = std::min<int64_t>(items, slices);
  return static_cast<int>(std::clamp<int64_t>(static_cast<int64_t>(std::min(grains, 1e9)), 1,
                                              std::max<int64_t>(most, 1)));
}

// Calls body(begin, end, range) for each of `ranges` ranges that cover [0, items).
template <typename Body>
void ForRanges(const Lease& threads, int64_t items, int ranges, Body&& body) {
  if (ranges == 1) {
    body(int64_t{0}, items, 0);
    return;
  }
  threads.ParallelFor(ranges, [&](int range) {
    const Range part = PartOf(items, ranges, range);
    body(part.begin, part.end, range);
  });
}

}  // namespace hr::cpu
