#include "runtime/data/example_order.h"

#include <numeric>

#include "runtime/data/permutation.h"

namespace hr::data {

Status ExampleOrder::Keep(const DataPosition& position) {
  if (!kept_.empty() && epoch_ == position.epoch && seed_ == position.seed) return {};
  if (kept_.empty()) {
    const size_t count = static_cast<size_t>(examples_);
    HR_ASSIGN_OR_RETURN(memory_, Block::Create(*allocator_, count * sizeof(int64_t)));
    kept_ = {static_cast<int64_t*>(memory_.data()), count};
  }
  epoch_ = position.epoch;
  seed_ = position.seed;
  ShuffledOrder(seed_, static_cast<uint64_t>(epoch_), kept_);
  return {};
}

Result<std::span<const int64_t>> ExampleOrder::Rows(const DataPosition& position,
                                                    const ExampleRange& range) {
  const size_t first = static_cast<size_t>(range.first), count = static_cast<size_t>(range.count);
  if (position.shuffle && examples_ <= kKept) {
    HR_RETURN_IF_ERROR(Keep(position));
    return std::span<const int64_t>(kept_.subspan(first, count));
  }
  rows_.resize(count);
  std::iota(rows_.begin(), rows_.end(), range.first);
  if (position.shuffle) {
    const Shuffle shuffle(position.seed, static_cast<uint64_t>(position.epoch), examples_);
    for (int64_t& row : rows_) row = shuffle.At(row);
  }
  return std::span<const int64_t>(rows_);
}

}  // namespace hr::data
