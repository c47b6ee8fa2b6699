#include "runtime/lowering/clip.h"

namespace hr::lowering {
namespace {

using graph::kNone;

// A bound is an input, or in older versions an attribute.
std::optional<double> BoundOf(const Region& region, const graph::Node& clip, size_t input) {
  if (input >= clip.inputs.size() || clip.inputs[input] == kNone) {
    return input == 1 ? clip.Float("min", -HUGE_VAL) : clip.Float("max", HUGE_VAL);
  }
  return region.ScalarOf(clip.inputs[input]);
}

}  // namespace

std::optional<Bounds> ClipBounds(const Region& region, graph::NodeId node) {
  if (!region.Is(node, "", "Clip")) return std::nullopt;
  const auto low = BoundOf(region, region.node(node), 1);
  const auto high = BoundOf(region, region.node(node), 2);
  if (!low || !high) return std::nullopt;
  return Bounds{*low, *high};
}

}  // namespace hr::lowering
