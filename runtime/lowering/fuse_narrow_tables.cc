#include "runtime/lowering/fuse_narrow_tables.h"

namespace hr::lowering {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

ValueId InputOf(const Region& region, NodeId id, size_t i) {
  const auto& inputs = region.node(id).inputs;
  return i < inputs.size() ? inputs[i] : kNone;
}

bool IsOneOf(DType dtype, DType a, DType b) { return dtype == a || dtype == b; }

bool IsCastFromHalves(const Region& region, NodeId id) {
  return region.Is(id, "", "Cast") &&
         IsOneOf(region.DTypeOf(region.node(id).inputs[0]), DType::kFloat16, DType::kBfloat16);
}

// Of bytes, with one scale or one for each row.
bool DequantizesRows(Region& region, NodeId id) {
  if (!region.Is(id, "", "DequantizeLinear")) return false;
  const ValueId scale = region.node(id).inputs[1], table = region.node(id).inputs[0];
  const bool supported = IsOneOf(region.DTypeOf(table), DType::kInt8, DType::kUint8) &&
                         region.DTypeOf(scale) == DType::kFloat32 &&
                         region.node(id).Int("block_size", 0) == 0;
  if (!supported) return false;
  const int64_t axis = region.node(id).Int("axis", 1);
  return region.Decide([=](const Region& r) {
    const auto rank = static_cast<int64_t>(r.DimsOf(table).size());
    return ElementCount(r.DimsOf(scale)) == 1 || axis == 0 || axis == -rank;
  });
}

bool TakesRows(Region& region, NodeId id) {
  if (!region.Is(id, "", "Gather")) return false;
  const int64_t axis = region.node(id).Int("axis", 0);
  const ValueId table = region.node(id).inputs[0];
  return region.DTypeOf(table) == DType::kFloat32 && region.Decide([=](const Region& r) {
    return axis == 0 || axis == -static_cast<int64_t>(r.DimsOf(table).size());
  });
}

}  // namespace

void FuseNarrowTables(Region& region) {
  const size_t count = region.node_count();
  for (NodeId id = 0; id < count; ++id) {
    if (region.IsDead(id) || !TakesRows(region, id)) continue;
    const NodeId widening = region.Producer(region.node(id).inputs[0]);
    const bool shortened = IsCastFromHalves(region, widening);
    if (!shortened && !DequantizesRows(region, widening)) continue;
    const ValueId scale = shortened ? kNone : InputOf(region, widening, 1),
                  zero = shortened ? kNone : InputOf(region, widening, 2);
    region.Replace(
        id, region.AddNode("GatherWidened",
                           {InputOf(region, widening, 0), InputOf(region, id, 1), scale, zero},
                           region.node(id).outputs, {}, region.node(id).name));
  }
  region.Sweep();
}

}  // namespace hr::lowering
