// Where the items of a long text begin: in memory that does not grow with their number, since of
// many items only every second, fourth, … is remembered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hr::data {

class OffsetIndex {
 public:
  static constexpr size_t kMost = size_t{1} << 22;  // remembered offsets: 32 MiB

  // Adds the next item, which begins at `offset`.
  void Add(uint64_t offset) {
    if ((count_++ & ((int64_t{1} << shift_) - 1)) != 0) return;
    offsets_.push_back(offset);
    if (offsets_.size() == most_) Thin();
  }
  int64_t count() const { return count_; }

  // The last remembered item that does not come after `item`.
  struct Place {
    int64_t item;
    uint64_t offset;
  };
  Place Before(int64_t item) const {
    return {item >> shift_ << shift_, offsets_[static_cast<size_t>(item >> shift_)]};
  }

  // Hints that Before(item) will be asked for.
  void Expect(int64_t item) const {
    __builtin_prefetch(&offsets_[static_cast<size_t>(item >> shift_)]);
  }

  // For tests: remembers at most so many, a power of 2.
  explicit OffsetIndex(size_t most = kMost) : most_(most) {}

 private:
  void Thin() {
    for (size_t i = 0; i < offsets_.size() / 2; ++i) offsets_[i] = offsets_[2 * i];
    offsets_.resize(offsets_.size() / 2);
    ++shift_;
  }

  size_t most_;
  std::vector<uint64_t> offsets_;
  int shift_ = 0;  // every 2^shift_-th item is remembered
  int64_t count_ = 0;
};

}  // namespace hr::data
