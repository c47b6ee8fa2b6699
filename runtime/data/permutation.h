// Shuffling: the order of one epoch, the same on every platform.
#pragma once

#include <cstdint>
#include <span>

namespace hr::data {

// Fills `order` with a permutation of 0 … order.size()-1 that depends on its size, `seed` and
// `epoch` alone, so any position of a training can be recomputed. Fisher-Yates (Durstenfeld 1964)
// over SplitMix64 (Steele, Lea, Flood 2014) used as a counter-based generator.
void ShuffledOrder(uint64_t seed, uint64_t epoch, std::span<int64_t> order);

// Another permutation of 0 … size-1 that depends on these numbers alone, for orders that are too
// large to be kept: each element is computed by itself. A Feistel network (Luby, Rackoff 1988) over
// the next power of 4, walked along its cycles until the result is below `size` (Black, Rogaway
// 2002).
class Shuffle {
 public:
  Shuffle(uint64_t seed, uint64_t epoch, int64_t size);
  int64_t At(int64_t i) const;

 private:
  uint64_t Permute(uint64_t i) const;

  uint64_t key_;
  uint64_t size_;
  int half_bits_;
};

}  // namespace hr::data
