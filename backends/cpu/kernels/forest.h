// Ensembles of decision trees. float and double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/base/executor.h"
#include "runtime/ops/forest.h"

namespace hr::cpu {

// Checked before: children lie behind their parents and inside, as do features, members, weights,
// targets and roots.
template <typename T>
struct Forest {
  struct Node {
    ops::ForestMode mode;
    bool missing;
    int64_t feature, yes, no, members_begin, members_end;
    T split;
  };
  std::vector<Node> nodes;
  std::vector<int64_t> roots;
  std::vector<int64_t> targets;  // of the weights
  std::vector<T> weights;
  std::vector<T> members;  // ascending within each node
  int64_t features = 1, target_count = 1;
  ops::ForestAggregate aggregate = ops::ForestAggregate::kSum;
};

template <typename T>
int ForestRanges(const Forest<T>& forest, int64_t rows, int slices);
inline size_t ForestScratchBytes(int64_t targets, int ranges) {
  return 2 * sizeof(double) * static_cast<size_t>(targets) * static_cast<size_t>(ranges);
}
// x [rows, features] → y [rows, target_count]. Weights are added in double, tree by tree.
template <typename T>
void Predict(const Lease& threads, const Forest<T>& forest, int64_t rows, const T* x, T* y,
             int ranges, void* scratch);

}  // namespace hr::cpu
