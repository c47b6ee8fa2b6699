#include "backends/cpu/kernels/forest.h"

#include <algorithm>

#include "backends/cpu/kernels/ranges.h"

namespace hr::cpu {
namespace {

using ops::ForestAggregate;
using ops::ForestMode;

template <typename T>
bool Holds(const Forest<T>& forest, const typename Forest<T>::Node& node, T x) {
  switch (node.mode) {
    case ForestMode::kLeq: return x <= node.split;
    case ForestMode::kLt: return x < node.split;
    case ForestMode::kGte: return x >= node.split;
    case ForestMode::kGt: return x > node.split;
    case ForestMode::kEq: return x == node.split;
    case ForestMode::kNeq: return x != node.split;
    default:
      return x == x && std::binary_search(forest.members.begin() + node.members_begin,
                                          forest.members.begin() + node.members_end, x);
  }
}

template <typename T>
const typename Forest<T>::Node& LeafOf(const Forest<T>& forest, int64_t root, const T* x) {
  const auto* node = &forest.nodes[static_cast<size_t>(root)];
  while (node->mode != ForestMode::kLeaf) {
    const T value = x[node->feature];
    const bool yes = (node->missing && value != value) || Holds(forest, *node, value);
    node = &forest.nodes[static_cast<size_t>(yes ? node->yes : node->no)];
  }
  return *node;
}

// One target's weights so far: what they come to, and how many there are.
struct Score {
  double value, count;
};

void Add(ForestAggregate aggregate, double weight, Score& score) {
  const bool first = score.count == 0;
  switch (aggregate) {
    case ForestAggregate::kMin: score.value = first ? weight : std::min(score.value, weight); break;
    case ForestAggregate::kMax: score.value = first ? weight : std::max(score.value, weight); break;
    default: score.value += weight;
  }
  score.count += 1;
}

template <typename T>
void PredictRow(const Forest<T>& forest, const T* x, T* y, Score* scores) {
  std::fill_n(scores, forest.target_count, Score{0, 0});
  for (int64_t root : forest.roots) {
    const auto& leaf = LeafOf(forest, root, x);
    for (int64_t w = leaf.yes; w < leaf.no; ++w) {
      const auto at = static_cast<size_t>(w);
      Add(forest.aggregate, static_cast<double>(forest.weights[at]), scores[forest.targets[at]]);
    }
  }
  const bool average = forest.aggregate == ForestAggregate::kAverage && !forest.roots.empty();
  const double divisor = average ? static_cast<double>(forest.roots.size()) : 1;
  for (int64_t t = 0; t < forest.target_count; ++t) {
    y[t] = static_cast<T>(scores[t].value / divisor);
  }
}

}  // namespace

template <typename T>
int ForestRanges(const Forest<T>& forest, int64_t rows, int slices) {
  constexpr int64_t kCost = 64;  // of a tree, against streaming
  return RangeCount(rows, kCost * static_cast<int64_t>(forest.roots.size()), slices);
}

template <typename T>
void Predict(const Lease& threads, const Forest<T>& forest, int64_t rows, const T* x, T* y,
             int ranges, void* scratch) {
  ForRanges(threads, rows, ranges, [&](int64_t begin, int64_t end, int range) {
    Score* scores = static_cast<Score*>(scratch) + range * forest.target_count;
    for (int64_t row = begin; row < end; ++row) {
      PredictRow(forest, x + row * forest.features, y + row * forest.target_count, scores);
    }
  });
}

#define HR_INSTANTIATE(T)                                    \
  template int ForestRanges(const Forest<T>&, int64_t, int); \
  template void Predict(const Lease&, const Forest<T>&, int64_t, const T*, T*, int, void*)
HR_INSTANTIATE(float);
HR_INSTANTIATE(double);
#undef HR_INSTANTIATE

}  // namespace hr::cpu
