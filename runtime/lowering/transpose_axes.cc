#include "runtime/lowering/transpose_axes.h"

#include <algorithm>
#include <numeric>

namespace hr::lowering {

Axes AxesInOrder(size_t rank) {
  Axes axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Axes PermutationOf(const graph::Node& transpose, size_t rank) {
  const auto given = transpose.Ints("perm");
  if (!given.empty()) return {given.begin(), given.end()};
  Axes axes = AxesInOrder(rank);
  std::reverse(axes.begin(), axes.end());
  return axes;
}

}  // namespace hr::lowering
