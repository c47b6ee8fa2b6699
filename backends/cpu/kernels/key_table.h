// Keys in order, to be found by bisection.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace hr::cpu {

// Of equal keys the first counts. NaN is a key like any other, and behind all.
template <typename K>
class KeyTable {
 public:
  explicit KeyTable(const std::vector<K>& keys) : order_(keys.size()) {
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(), [&](int64_t a, int64_t b) {
      return Less(keys[static_cast<size_t>(a)], keys[static_cast<size_t>(b)]);
    });
    for (int64_t i : order_) sorted_.push_back(keys[static_cast<size_t>(i)]);
  }

  // The number of the key, or -1.
  int64_t Find(K key) const {
    const auto found = std::lower_bound(sorted_.begin(), sorted_.end(), key, Less);
    if (found == sorted_.end() || Less(key, *found)) return -1;
    return order_[static_cast<size_t>(found - sorted_.begin())];
  }

 private:
  static bool Less(K a, K b) { return a < b || (a == a && b != b); }

  std::vector<int64_t> order_;
  std::vector<K> sorted_;
};

}  // namespace hr::cpu
