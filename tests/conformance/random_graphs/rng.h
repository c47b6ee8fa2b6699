// Random numbers by counter: the same seed draws the same numbers on every platform.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace hr::random_graphs {

// The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
constexpr uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

// Number `counter` of the stream that `key` names.
constexpr uint64_t Draw(uint64_t key, uint64_t counter) {
  return Mix(Mix(key + 0x9e3779b97f4a7c15U) + (counter + 1) * 0x9e3779b97f4a7c15U);
}

class Rng {
 public:
  explicit Rng(uint64_t key) : key_(key) {}

  uint64_t Next() { return Draw(key_, counter_++); }
  // Both ends are possible.
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(Next() % static_cast<uint64_t>(high - low + 1));
  }
  bool Chance(int percent) { return Between(1, 100) <= percent; }
  size_t Index(size_t count) { return static_cast<size_t>(Next() % count); }
  template <typename T>
  const T& Pick(const std::vector<T>& from) {
    return from[Index(from.size())];
  }
  template <typename T>
  T Pick(std::initializer_list<T> from) {
    return from.begin()[Index(from.size())];
  }

 private:
  uint64_t key_;
  uint64_t counter_ = 0;
};

}  // namespace hr::random_graphs
