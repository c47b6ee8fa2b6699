// Gives buffers with known lifetimes offsets in one arena, so that buffers that do not live at the
// same time share memory (greedy by size: Pisarchyk and Lee, arXiv:2001.03288).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hr::engine {

struct Lifetime {
  size_t bytes = 0;
  uint32_t first = 0;  // step that writes it
  uint32_t last = 0;   // last step that touches it; >= first
};

struct ArenaLayout {
  std::vector<size_t> offsets;  // one per lifetime, multiples of kTensorAlignment
  size_t bytes = 0;             // of the arena; SIZE_MAX, which no allocator gives, beyond that
};

// Returns what a buffer takes of an arena: a multiple of kTensorAlignment.
size_t AlignedInArena(size_t bytes);

ArenaLayout PlanArena(std::span<const Lifetime> lifetimes);

}  // namespace hr::engine
