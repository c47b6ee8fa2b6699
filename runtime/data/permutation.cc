#include "runtime/data/permutation.h"

#include <bit>
#include <numeric>
#include <utility>

namespace hr::data {
namespace {

constexpr uint64_t kGoldenGamma = 0x9E3779B97F4A7C15u;

// SplitMix64's finalizer: a bijection of 64-bit words that mixes every bit.
uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

uint64_t KeyOf(uint64_t seed, uint64_t epoch) { return Mix(Mix(seed + kGoldenGamma) + epoch); }

// The upper half of a 128-bit product, without a 128-bit type.
uint64_t MultiplyHigh(uint64_t a, uint64_t b) {
  uint64_t a_low = a & 0xFFFFFFFF, a_high = a >> 32;
  uint64_t b_low = b & 0xFFFFFFFF, b_high = b >> 32;
  uint64_t low = a_low * b_low;
  uint64_t middle = a_high * b_low + (low >> 32);
  uint64_t middle2 = a_low * b_high + (middle & 0xFFFFFFFF);
  return a_high * b_high + (middle >> 32) + (middle2 >> 32);
}

}  // namespace

void ShuffledOrder(uint64_t seed, uint64_t epoch, std::span<int64_t> order) {
  std::iota(order.begin(), order.end(), int64_t{0});
  const uint64_t key = KeyOf(seed, epoch);
  for (uint64_t i = order.size(); i > 1; --i) {
    // A 64-bit word scaled to [0, i): its bias of i / 2^64 is beyond measuring.
    uint64_t other = MultiplyHigh(Mix(key + i * kGoldenGamma), i);
    std::swap(order[i - 1], order[other]);
  }
}

Shuffle::Shuffle(uint64_t seed, uint64_t epoch, int64_t size)
    : key_(KeyOf(seed, epoch)), size_(static_cast<uint64_t>(size)) {
  half_bits_ = (std::bit_width(size_ - 1) + 1) / 2;
}

uint64_t Shuffle::Permute(uint64_t i) const {
  constexpr uint64_t kRounds = 6;  // four would do against an adversary
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t left = i >> half_bits_, right = i & mask;
  for (uint64_t round = 0; round < kRounds; ++round) {
    const uint64_t word = Mix(key_ + (right * kRounds + round) * kGoldenGamma) >> 32;
    left = std::exchange(right, left ^ (word & mask));
  }
  return left << half_bits_ | right;
}

int64_t Shuffle::At(int64_t i) const {
  uint64_t at = static_cast<uint64_t>(i);
  do at = Permute(at);
  while (at >= size_);
  return static_cast<int64_t>(at);
}

}  // namespace hr::data
