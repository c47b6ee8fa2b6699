#include "runtime/data/selection.h"

#include <algorithm>

namespace hr::data {

int64_t Selection::At(int64_t i) const {
  const auto group = std::ranges::upper_bound(before_, i) - before_.begin() - 1;
  int64_t left = i - before_[static_cast<size_t>(group)];
  auto word = static_cast<size_t>(group * kWords);
  for (int here; left >= (here = std::popcount(words_[word])); ++word) left -= here;
  uint64_t bits = words_[word];
  for (; left > 0; --left) bits &= bits - 1;
  return static_cast<int64_t>(word) * kBits + std::countr_zero(bits);
}

}  // namespace hr::data
