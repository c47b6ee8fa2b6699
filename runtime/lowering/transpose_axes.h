// The order of axes that Transpose nodes make, and values seen through such nodes.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/lowering/region.h"

namespace hr::lowering {

using Axes = std::vector<int64_t>;

// Returns 0, 1, … of so many axes.
Axes AxesInOrder(size_t rank);

// Returns which axis of its input each axis of a Transpose's result is; both have `rank` axes.
Axes PermutationOf(const graph::Node& transpose, size_t rank);

// A value seen through Transpose nodes: its axis i is axis axes[i] of `memory`.
struct TransposedView {
  graph::ValueId memory = graph::kNone;
  Axes axes;

  // Of the last two axes.
  TransposedView Swapped() const;
  // Whether the last axis has no gaps in memory.
  bool HasRows() const { return axes.back() == static_cast<int64_t>(axes.size()) - 1; }
  // Whether one of the last two has none: each matrix has rows or columns without gaps.
  bool HasMatrices() const { return HasRows() || Swapped().HasRows(); }
  friend bool operator==(const TransposedView&, const TransposedView&) = default;
};

using ViewTest = std::function<bool(const TransposedView&)>;

// Returns the value as itself.
TransposedView OwnView(const Region& region, graph::ValueId value);

// Goes on to what `memory` was transposed from; returns whether there is such a Transpose. One that
// waits for other nodes is not passed, since whoever reads behind it must wait as well.
bool PassTranspose(const Region& region, TransposedView* view);

// Returns the value in the memory of what it was transposed from: as far back as `fits` allows, at
// worst its own.
TransposedView SourceOf(const Region& region, graph::ValueId value, const ViewTest& fits);

// Returns the value in the memory of the Transpose nodes that are all that takes it, as far as
// `fits` allows; these are appended to `nodes`. One that waits for other nodes is not passed: these
// may need what its producer makes besides.
TransposedView TargetOf(const Region& region, graph::ValueId value, const ViewTest& fits,
                        std::vector<graph::NodeId>* nodes);

}  // namespace hr::lowering
