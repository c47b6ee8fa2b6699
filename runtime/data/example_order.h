// In which order an epoch has its examples, in memory that does not grow with their number.
#pragma once

#include <vector>

#include "runtime/base/allocator.h"
#include "runtime/data/batching.h"

namespace hr::data {

class ExampleOrder {
 public:
  // The order of up to this many examples is kept in memory.
  static constexpr int64_t kKept = int64_t{1} << 22;

  ExampleOrder(Allocator& allocator, int64_t examples)
      : allocator_(&allocator), examples_(examples) {}

  // Returns the numbers of the examples at places `range` of the epoch at `position`: the places
  // themselves, or if it shuffles those of a permutation that depends on the number of examples,
  // seed and epoch alone (permutation.h). Valid until the next call.
  Result<std::span<const int64_t>> Rows(const DataPosition& position, const ExampleRange& range);

 private:
  Status Keep(const DataPosition& position);

  Allocator* const allocator_;
  const int64_t examples_;
  Block memory_;
  std::span<int64_t> kept_;  // the order of the epoch below; empty: there is none
  int64_t epoch_ = 0;
  uint64_t seed_ = 0;
  std::vector<int64_t> rows_;
};

}  // namespace hr::data
