// Shuffling: the order of one epoch, the same on every platform.
#pragma once

#include <cstdint>
#include <span>

namespace hr::data {

// Fills `order` with a permutation of 0 … order.size()-1 that depends on its size, `seed` and
// `epoch` alone, so any position of a training can be recomputed. Fisher-Yates (Durstenfeld 1964)
// over SplitMix64 (Steele, Lea, Flood 2014) used as a counter-based generator.
void ShuffledOrder(uint64_t seed, uint64_t epoch, std::span<int64_t> order);

}  // namespace hr::data
