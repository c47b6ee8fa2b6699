#include "backends/cpu/lowering/layouts.h"

#include <algorithm>

#include "backends/cpu/kernel_table.h"
#include "backends/cpu/kernels/partition.h"

namespace hr::cpu {
namespace {

using graph::kNone;
using graph::ValueId;
using lowering::NodeLayouts;
using lowering::Region;

// Convolutions and pools fix the layout of their images; w, bias and their gradients stay plain.
bool IsImageInput(std::string_view op, size_t i) {
  if (op == "Conv") return i == 0;
  if (op == "ConvGradWeight") return true;
  if (op == "ConvGradInput") return i < 2;
  return true;  // pools
}
bool IsImageOutput(std::string_view op) { return op != "ConvGradWeight"; }

bool IsWindow(const graph::Operator& op) {
  if (op.domain == lowering::kLowered) return op.name.starts_with("Conv");
  const KernelEntry* entry = FindKernel(op);
  return entry != nullptr && entry->batch_blocked && op.name.find("Pool") != std::string::npos;
}

bool IsFollower(Region& region, const graph::Node& node) {
  const KernelEntry* entry = FindKernel(region.module.OperatorOf(node));
  if (entry == nullptr || !entry->batch_blocked || node.outputs.empty()) return false;
  if (node.outputs[0] == kNone) return false;
  return region.Decide([inputs = node.inputs, output = node.outputs[0]](const Region& r) {
    const Dims shape = r.DimsOf(output);
    const DType dtype = r.DTypeOf(output);
    // Lanes beyond the batch must stay zero, but most operators would write something else there.
    // So blocks must be full.
    if (shape.empty() || shape[0] % (64 / static_cast<int64_t>(DTypeSize(dtype))) != 0)
      return false;
    return std::all_of(inputs.begin(), inputs.end(), [&](ValueId input) {
      return input != kNone && r.DimsOf(input) == shape && r.DTypeOf(input) == dtype;
    });
  });
}

bool TakesBlocks(const Region& region, const graph::Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
    return input != kNone && region.LayoutOf(input) == kBatchBlockedLayout;
  });
}

// Pools take images in the layout that they have; plain ones are only worth a copy if the blocks
// are nearly full.
bool PoolsBlocked(Region& region, const graph::Node& node) {
  const bool blocked = TakesBlocks(region, node);
  return region.Decide([blocked, image = node.inputs[0]](const Region& r) {
    const DType dtype = r.DTypeOf(image);
    const Dims dims = r.DimsOf(image);
    if (!IsFloating(dtype) || DTypeSize(dtype) < 4 || dims.size() < 3 || dims.size() > 4) {
      return false;
    }
    const int64_t block = 64 / static_cast<int64_t>(DTypeSize(dtype));
    return blocked || 4 * dims[0] >= 3 * RoundUp(dims[0], block);
  });
}

bool RunsBlocked(Region& region, const graph::Node& node) {
  const graph::Operator& op = region.module.OperatorOf(node);
  if (IsWindow(op)) {
    if (op.domain == lowering::kLowered) return true;
    // Indices are positions in the plain layout.
    if (op.name == "MaxPool" && node.outputs.size() > 1 && node.outputs[1] != kNone) return false;
    return PoolsBlocked(region, node);
  }
  return TakesBlocks(region, node) && IsFollower(region, node);
}

// Maps of positions and other integers describe their own layout.
bool IsImage(const Region& region, ValueId value) {
  return value != kNone && IsFloating(region.DTypeOf(value));
}

}  // namespace

NodeLayouts BatchBlockedLayouts(Region& region, graph::NodeId id) {
  const graph::Node& node = region.node(id);
  if (!RunsBlocked(region, node)) return {};
  const graph::Operator& op = region.module.OperatorOf(node);
  const bool window = IsWindow(op);
  NodeLayouts out;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const bool blocked = IsImage(region, node.inputs[i]) && (!window || IsImageInput(op.name, i));
    out.inputs.push_back(blocked ? kBatchBlockedLayout : Layout::kPlain);
  }
  for (ValueId output : node.outputs) {
    const bool blocked = IsImage(region, output) && (!window || IsImageOutput(op.name));
    out.outputs.push_back(blocked ? kBatchBlockedLayout : Layout::kPlain);
  }
  return out;
}

}  // namespace hr::cpu
