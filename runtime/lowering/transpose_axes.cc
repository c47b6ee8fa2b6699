#include "runtime/lowering/transpose_axes.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace hr::lowering {
namespace {

using graph::NodeId;
using graph::ValueId;

bool CanPass(const Region& region, NodeId id) {
  return region.Is(id, "", "Transpose") && region.node(id).controls.empty();
}

}  // namespace

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

TransposedView TransposedView::Swapped() const {
  TransposedView out = *this;
  std::swap(out.axes[out.axes.size() - 1], out.axes[out.axes.size() - 2]);
  return out;
}

TransposedView OwnView(const Region& region, ValueId value) {
  return {value, AxesInOrder(region.DimsOf(value).size())};
}

bool PassTranspose(const Region& region, TransposedView* view) {
  const NodeId id = region.Producer(view->memory);
  if (!CanPass(region, id)) return false;
  const Axes permutation = PermutationOf(region.node(id), view->axes.size());
  for (int64_t& axis : view->axes) axis = permutation[static_cast<size_t>(axis)];
  view->memory = region.node(id).inputs[0];
  return true;
}

TransposedView SourceOf(const Region& region, ValueId value, const ViewTest& fits) {
  TransposedView view = OwnView(region, value), best = view;
  while (PassTranspose(region, &view)) {
    if (fits(view)) best = view;
  }
  return best;
}

TransposedView TargetOf(const Region& region, ValueId value, const ViewTest& fits,
                        std::vector<NodeId>* nodes) {
  TransposedView view = OwnView(region, value), best = view;
  std::vector<NodeId> passed;
  for (NodeId id = region.OnlyConsumer(value); CanPass(region, id);
       id = region.OnlyConsumer(view.memory)) {
    const Axes permutation = PermutationOf(region.node(id), view.axes.size());
    for (int64_t& axis : view.axes) {
      axis = std::find(permutation.begin(), permutation.end(), axis) - permutation.begin();
    }
    view.memory = region.node(id).outputs[0];
    passed.push_back(id);
    if (!fits(view)) continue;
    best = view;
    nodes->insert(nodes->end(), passed.begin(), passed.end());
    passed.clear();
  }
  return best;
}

}  // namespace hr::lowering
