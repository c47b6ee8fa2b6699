#include "backends/cpu/lowering/transposes.h"

#include <algorithm>

#include "backends/cpu/lowering/conv_layouts.h"
#include "runtime/lowering/transpose_axes.h"

namespace hr::cpu {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;
using lowering::Axes;
using lowering::Region;

// The axes of a value in the order in which they lie in memory, without those of one element.
Axes InMemory(const Dims& dims, bool channels_last) {
  Axes axes = lowering::AxesInOrder(dims.size());
  if (channels_last) std::rotate(axes.begin() + 1, axes.begin() + 2, axes.end());
  std::erase_if(axes, [&](int64_t axis) { return dims[static_cast<size_t>(axis)] == 1; });
  return axes;
}

// Whether x in one layout and y = transpose(x) in the other have the same memory.
bool IsRelabelled(const graph::Node& node, const Dims& x, const Dims& y, bool from, bool to) {
  const Axes perm = lowering::PermutationOf(node, x.size());
  Axes written;  // axes of x
  for (int64_t axis : InMemory(y, to)) written.push_back(perm[static_cast<size_t>(axis)]);
  return written == InMemory(x, from);
}

bool IsChannelsLastConv(const Region& region, NodeId id) {
  return id != kNone && region.node(id).Int(kChannelsLast, 0) != 0;
}

bool FeedsConv(const Region& region, ValueId image) {
  const auto consumers = region.Consumers(image);
  return std::any_of(consumers.begin(), consumers.end(), [&](NodeId id) {
    return IsChannelsLastConv(region, id) && region.node(id).inputs[0] == image;
  });
}

void Relabel(Region& region, NodeId id) {
  const graph::Node node = region.node(id);
  const ValueId x = node.inputs[0], y = node.outputs[0];
  const bool from = IsChannelsLastConv(region, region.Producer(x)), to = FeedsConv(region, y);
  const bool fits = from != to && region.Decide([=](const Region& r) {
    const Dims dims = r.DimsOf(x);
    return (dims.size() == 3 || dims.size() == 4) &&
           IsRelabelled(node, dims, r.DimsOf(y), from, to);
  });
  if (!fits) return;
  region.Replace(
      id,
      region.AddNode("Relabel", {x}, {y},
                     graph::Attributes({{"from", int64_t{from}}, {"to", int64_t{to}}}), node.name));
}

}  // namespace

void RelabelTransposes(Region& region) {
  const size_t count = region.node_count();
  for (NodeId id = 0; id < count; ++id) {
    if (!region.IsDead(id) && region.Is(id, "", "Transpose")) Relabel(region, id);
  }
  region.Sweep();
}

}  // namespace hr::cpu
