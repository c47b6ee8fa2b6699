#include "runtime/lowering/drop_copies.h"

#include <algorithm>

namespace hr::lowering {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

// Whether a Slice goes forwards along all axes: it keeps all elements in order if it keeps their
// number.
bool GoesForwards(const Region& region, const graph::Node& slice) {
  constexpr size_t kSteps = 4;
  if (slice.inputs.size() <= kSteps || slice.inputs[kSteps] == kNone) return true;
  const Tensor* steps = region.ConstantOf(slice.inputs[kSteps]);
  if (steps == nullptr) return false;
  const auto all_positive = [](const auto& values) {
    return std::all_of(values.begin(), values.end(), [](auto step) { return step > 0; });
  };
  if (steps->dtype() == DType::kInt64) return all_positive(steps->span<int64_t>());
  return steps->dtype() == DType::kInt32 && all_positive(steps->span<int32_t>());
}

bool MayCopy(const Region& region, NodeId id) {
  if (region.Is(id, "", "Expand")) return true;
  return region.Is(id, "", "Slice") && GoesForwards(region, region.node(id));
}

}  // namespace

void DropCopies(Region& region) {
  for (NodeId id = 0; id < region.node_count(); ++id) {
    if (!MayCopy(region, id) || !region.node(id).controls.empty()) continue;
    const ValueId from = region.node(id).inputs[0], to = region.node(id).outputs[0];
    const bool copies =
        region.Decide([from, to](const Region& r) { return r.DimsOf(from) == r.DimsOf(to); });
    if (!copies || region.IsFetched(to)) continue;
    for (NodeId consumer : region.Consumers(to)) region.ReplaceInput(consumer, to, from);
  }
  region.Sweep();
}

}  // namespace hr::lowering
