// Finds steps that read memory which holds nothing of theirs: when a program is built, by following
// who owns each byte of the arena, and while it runs, by filling what is dead with a pattern.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "runtime/base/errors.h"

namespace hr::engine {

struct ArenaRange {
  size_t offset = 0;
  size_t bytes = 0;
};

// The value that was last written to each byte of an arena. One byte has one owner.
class ArenaOwners {
 public:
  static constexpr uint32_t kNobody = UINT32_MAX;

  void Write(ArenaRange range, uint32_t owner);
  // Returns whether all of the range belongs to `owner`. A range of no bytes does.
  bool Owns(ArenaRange range, uint32_t owner) const;

 private:
  // Makes a piece begin at `offset`.
  void Split(size_t offset);

  std::map<size_t, uint32_t> pieces_ = {{0, kNobody}};  // first byte → owner, up to the next piece
};

// Floating-point numbers that are NaN, integers that are -1 or the largest there are.
inline constexpr int kPoison = 0xff;

// Fills ranges of an arena with kPoison.
void PoisonArena(std::byte* arena, std::span<const ArenaRange> ranges);

}  // namespace hr::engine
