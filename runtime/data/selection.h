// A subset of numbered things, in little more than a bit for each.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace hr::data {

class Selection {
 public:
  // Says whether the next thing is in it.
  void Add(bool chosen) {
    if (size_ % kBits == 0) words_.push_back(0);
    if (size_ % (kBits * kWords) == 0) before_.push_back(count_);
    words_.back() |= static_cast<uint64_t>(chosen) << (size_ % kBits);
    count_ += chosen ? 1 : 0;
    ++size_;
  }
  int64_t count() const { return count_; }
  // Returns the number of the i-th that is in it.
  int64_t At(int64_t i) const;

 private:
  static constexpr int64_t kBits = 64;  // of a word
  static constexpr int64_t kWords = 8;  // of a group

  std::vector<uint64_t> words_;
  std::vector<int64_t> before_;  // how many are chosen before each group
  int64_t size_ = 0;
  int64_t count_ = 0;
};

}  // namespace hr::data
