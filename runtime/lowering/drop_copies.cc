#include "runtime/lowering/drop_copies.h"

#include <algorithm>
#include <span>
#include <vector>

#include "runtime/ops/op_def.h"

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

bool Expands(const Region& region, NodeId id) {
  return region.Is(id, "", "Expand") || region.Is(id, ops::kGrad, "ExpandLike");
}

bool MayCopy(const Region& region, NodeId id) {
  if (Expands(region, id) || region.Is(id, ops::kGrad, "SumTo")) return true;
  return region.Is(id, "", "Slice") && GoesForwards(region, region.node(id));
}

// Whether operands of these shapes repeat to that of a result.
bool RepeatTo(const Dims& result, std::span<const Dims> operands) {
  std::vector<bool> whole(result.size(), false);
  bool ranked = false;
  for (const Dims& dims : operands) {
    ranked = ranked || dims.size() == result.size();
    for (size_t i = 1; i <= dims.size(); ++i) {
      const size_t axis = result.size() - i;
      whole[axis] = whole[axis] || dims[dims.size() - i] == result[axis];
    }
  }
  return ranked && std::all_of(whole.begin(), whole.end(), [](bool all) { return all; });
}

// Whether a node repeats an operand that is not expanded, and gives the same.
bool RepeatsItself(Region& region, NodeId id, ValueId from, ValueId to) {
  const auto is = [&](std::string_view name) { return region.Is(id, "", name); };
  if (!is("Add") && !is("Sub") && !is("Mul") && !is("Div")) return false;
  const graph::Node& node = region.node(id);
  return region.Decide([inputs = node.inputs, out = node.outputs[0], from, to](const Region& r) {
    std::vector<Dims> operands;
    for (const ValueId input : inputs) operands.push_back(r.DimsOf(input == to ? from : input));
    return RepeatTo(r.DimsOf(out), operands);
  });
}

void TakeUnexpanded(Region& region, NodeId id) {
  const ValueId from = region.node(id).inputs[0], to = region.node(id).outputs[0];
  for (const NodeId consumer : region.Consumers(to)) {
    if (RepeatsItself(region, consumer, from, to)) region.ReplaceInput(consumer, to, from);
  }
}

// What a node copies: what it takes first, or what it multiplies by one.
ValueId CopiedBy(const Region& region, NodeId id) {
  const graph::Node& node = region.node(id);
  if (MayCopy(region, id)) return node.inputs[0];
  if (!region.Is(id, "", "Mul")) return kNone;
  for (size_t i = 0; i < 2; ++i) {
    if (region.ScalarOf(node.inputs[i]) == 1) return node.inputs[1 - i];
  }
  return kNone;
}

}  // namespace

void DropCopies(Region& region) {
  for (NodeId id = 0; id < region.node_count(); ++id) {
    if (Expands(region, id) && region.node(id).controls.empty()) TakeUnexpanded(region, id);
  }
  for (NodeId id = 0; id < region.node_count(); ++id) {
    const ValueId from = CopiedBy(region, id);
    if (from == kNone || !region.node(id).controls.empty()) continue;
    const ValueId to = region.node(id).outputs[0];
    const bool copies =
        region.Decide([from, to](const Region& r) { return r.DimsOf(from) == r.DimsOf(to); });
    if (!copies || region.IsFetched(to)) continue;
    for (NodeId consumer : region.Consumers(to)) region.ReplaceInput(consumer, to, from);
  }
  region.Sweep();
}

}  // namespace hr::lowering
