// The order of axes that Transpose nodes make.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/graph/graph.h"

namespace hr::lowering {

using Axes = std::vector<int64_t>;

// Returns 0, 1, … of so many axes.
Axes AxesInOrder(size_t rank);

// Returns which axis of its input each axis of a Transpose's result is; both have `rank` axes.
Axes PermutationOf(const graph::Node& transpose, size_t rank);

}  // namespace hr::lowering
