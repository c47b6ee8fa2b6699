#include "backends/cpu/lowering/layouts.h"

#include <algorithm>

#include "backends/cpu/kernel_table.h"
#include "backends/cpu/kernels/conv_few_channels.h"
#include "backends/cpu/lowering/bfloat16_products.h"
#include "backends/cpu/lowering/conv_layouts.h"
#include "backends/cpu/ops/image_end.h"
#include "backends/cpu/ops/window_shape.h"

namespace hr::cpu {
namespace {

using graph::kNone;
using graph::ValueId;
using lowering::NodeLayouts;
using lowering::Region;

// A convolution that fuse_conv.cc has made, whose attribute says whether it runs channels-last.
bool IsTaggedConv(const graph::Operator& op) {
  return op.domain == lowering::kLowered &&
         (op.name == "PlainConv" || op.name == "ChannelsLastConv");
}

// Of bfloat16 (bfloat16_products.h): takes images as they are.
bool IsBfloat16Conv(const graph::Operator& op) {
  return op.domain == lowering::kLowered && op.name.starts_with("Bfloat16Conv");
}

// What a node does with images in another layout.
enum class Kind : uint8_t {
  kNone,
  kView,
  kConvolution,
  kPool,
  kNormalization,  // of channels; only its images change their layout
  kElementwise
};

Kind KindOf(const graph::Operator& op) {
  const KernelEntry* entry = FindKernel(op);
  if (entry == nullptr) return Kind::kNone;
  if (op.name.starts_with("Conv") || IsTaggedConv(op)) return Kind::kConvolution;
  if (!entry->any_layout) return entry->make == nullptr ? Kind::kView : Kind::kNone;
  if (op.name.find("Pool") != std::string::npos) return Kind::kPool;
  return op.name.starts_with("BatchNormalization") ? Kind::kNormalization : Kind::kElementwise;
}

// Weights, biases, statistics and their gradients stay plain.
bool IsImageInput(Kind kind, const graph::Operator& op, size_t i) {
  if (kind == Kind::kConvolution) {
    if (op.name.ends_with("ConvGradWeight")) return op.domain == lowering::kLowered || i < 2;
    if (op.name.ends_with("ConvGradInput")) return op.domain == lowering::kLowered ? i < 2 : i != 1;
    // Of a chain, a residual for each convolution.
    return op.name == "ConvChain" ? i % kConvOperands == 0 : i == 0 || i == kConvOperands;
  }
  if (kind == Kind::kNormalization) {
    return op.name == "BatchNormalization" ? i == 0 || i == 5 : i < 2;  // 5: the residual
  }
  return true;
}
bool IsImageOutput(Kind kind, const graph::Operator& op, size_t i) {
  if (kind == Kind::kConvolution) return !op.name.ends_with("ConvGradWeight");
  return i == 0 || kind != Kind::kNormalization;
}

bool HasInput(const Region& region, const graph::Node& node, Layout layout) {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
    return input != kNone && region.LayoutOf(input) == layout;
  });
}

bool HasResult(const graph::Node& node) {
  return !node.outputs.empty() && node.outputs[0] != kNone;
}

// Whether a pool also gives the positions of its maxima, which are those in the plain layout.
bool HasIndices(const Region& region, const graph::Node& node) {
  return region.module.OperatorOf(node).name == "MaxPool" && node.outputs.size() > 1 &&
         node.outputs[1] != kNone;
}

// ---- Batch-blocked ----

int64_t BlockOf(DType dtype) { return 64 / static_cast<int64_t>(DTypeSize(dtype)); }

// Lanes beyond the batch must stay zero, but most operators would write something else there. So
// blocks must be full.
bool HasFullBlocks(const Region& region, ValueId image) {
  const Dims dims = region.DimsOf(image);
  return !dims.empty() && dims[0] % BlockOf(region.DTypeOf(image)) == 0;
}

// Pools take images in the layout that they have.
bool PoolsBlocked(Region& region, const graph::Node& node) {
  if (HasIndices(region, node) || !HasInput(region, node, kBatchBlockedLayout)) return false;
  return region.Decide([image = node.inputs[0]](const Region& r) {
    const DType dtype = r.DTypeOf(image);
    const Dims dims = r.DimsOf(image);
    return IsFloating(dtype) && DTypeSize(dtype) >= 4 && dims.size() >= 3 && dims.size() <= 4;
  });
}

bool ElementsBlocked(Region& region, const graph::Node& node) {
  return region.Decide([inputs = node.inputs, output = node.outputs[0]](const Region& r) {
    const Dims shape = r.DimsOf(output);
    const DType dtype = r.DTypeOf(output);
    return HasFullBlocks(r, output) &&
           std::all_of(inputs.begin(), inputs.end(), [&](ValueId input) {
             return input != kNone && r.DimsOf(input) == shape && r.DTypeOf(input) == dtype;
           });
  });
}

bool RunsBlocked(Region& region, const graph::Node& node, Kind kind) {
  const graph::Operator& op = region.module.OperatorOf(node);
  if (kind == Kind::kConvolution) return op.domain == lowering::kLowered && !IsTaggedConv(op);
  if (kind == Kind::kPool) return PoolsBlocked(region, node);
  if (!HasResult(node) || !HasInput(region, node, kBatchBlockedLayout)) return false;
  if (kind == Kind::kElementwise) return ElementsBlocked(region, node);
  return region.Decide(
      [image = node.inputs[0]](const Region& r) { return HasFullBlocks(r, image); });
}

// ---- Channels-last ----

bool HasChannels(const Dims& dims) { return dims.size() == 3 || dims.size() == 4; }

// A value that has as many elements as the image is one; others must lie in memory as they would
// with their channels last: scalars, and those with one element for each channel.
bool BroadcastsChannels(const Dims& dims, const Dims& image) {
  if (ElementCount(dims) == 1) return dims.size() <= image.size();
  if (dims.size() > image.size() || dims.size() + 1 < image.size()) return false;
  const size_t spatial = image.size() - 2;
  return std::all_of(dims.end() - static_cast<int64_t>(spatial), dims.end(),
                     [](int64_t d) { return d == 1; });
}

bool ElementsChannelsLast(Region& region, const graph::Node& node) {
  return region.Decide([inputs = node.inputs, output = node.outputs[0]](const Region& r) {
    const Dims image = r.DimsOf(output);
    return HasChannels(image) && std::all_of(inputs.begin(), inputs.end(), [&](ValueId input) {
             if (input == kNone) return true;
             const Dims dims = r.DimsOf(input);
             return dims == image || BroadcastsChannels(dims, image);
           });
  });
}

bool RunsChannelsLast(Region& region, const graph::Node& node, Kind kind) {
  if (kind == Kind::kConvolution) return node.Int(kChannelsLast, 0) != 0;
  if (!HasResult(node) || !HasInput(region, node, kChannelsLastLayout)) return false;
  if (kind == Kind::kElementwise) return ElementsChannelsLast(region, node);
  if (kind == Kind::kNormalization) return true;
  return !HasIndices(region, node);
}

// Maps of positions and other integers describe their own layout.
bool IsBlockedImage(const Region& region, ValueId value) {
  return value != kNone && IsFloating(region.DTypeOf(value));
}

// Whether a node is a forward convolution of few channels, which it takes as they are.
bool TakesFewChannels(Region& region, const graph::Node& node) {
  const graph::Operator& op = region.module.OperatorOf(node);
  if (op.name != "Conv" && !IsTaggedConv(op)) return false;
  return region.Decide([node](const Region& r) {
    const auto shape = ConvShapeOf(node, r.DimsOf(node.inputs[0]), r.DimsOf(node.inputs[1]));
    return shape.ok() && HasFewChannels(*shape);
  });
}

// Returns the layout in which a channels-last node takes an input. What an element-wise operator
// repeats stays as it is.
Layout ChannelsLastInput(Region& region, const graph::Node& node, Kind kind, size_t i) {
  const ValueId input = node.inputs[i];
  if (input == kNone) return Layout::kPlain;
  const graph::Operator& op = region.module.OperatorOf(node);
  const bool repeated =
      kind == Kind::kElementwise && region.DimsOf(input) != region.DimsOf(node.outputs[0]);
  if (repeated) return region.LayoutOf(input);
  const bool plain = region.LayoutOf(input) == Layout::kPlain;
  if (kind == Kind::kConvolution && i == 0 && plain && TakesFewChannels(region, node)) {
    return Layout::kPlain;
  }
  return IsImageInput(kind, op, i) ? kChannelsLastLayout : Layout::kPlain;
}

NodeLayouts ChannelsLastLayouts(Region& region, const graph::Node& node, Kind kind) {
  NodeLayouts out;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    out.inputs.push_back(ChannelsLastInput(region, node, kind, i));
  }
  const graph::Operator& op = region.module.OperatorOf(node);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const bool image = node.outputs[i] != kNone && IsImageOutput(kind, op, i);
    out.outputs.push_back(image ? kChannelsLastLayout : Layout::kPlain);
  }
  return out;
}

NodeLayouts BatchBlockedLayouts(const Region& region, const graph::Node& node, Kind kind) {
  const graph::Operator& op = region.module.OperatorOf(node);
  NodeLayouts out;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const bool image = IsImageInput(kind, op, i) && IsBlockedImage(region, node.inputs[i]);
    out.inputs.push_back(image ? kBatchBlockedLayout : Layout::kPlain);
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const bool image = IsImageOutput(kind, op, i) && IsBlockedImage(region, node.outputs[i]);
    out.outputs.push_back(image ? kBatchBlockedLayout : Layout::kPlain);
  }
  return out;
}

// ---- Convolutions of bfloat16 ----

NodeLayouts Bfloat16Layouts(const Region& region, const graph::Node& node) {
  NodeLayouts out;
  const bool of_weights = region.module.OperatorOf(node).name.ends_with("GradWeight");
  const bool channels_last = node.Int(kChannelsLast, 0) != 0;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId input = node.inputs[i];
    const bool image = i == 0 || (i == 1 && of_weights);
    const bool follows = image && region.LayoutOf(input) == kChannelsLastLayout;
    const bool residual = i == kBfloat16Residual && input != kNone;
    out.inputs.push_back(follows || residual ? kChannelsLastLayout : Layout::kPlain);
  }
  out.outputs.push_back(channels_last ? kChannelsLastLayout : Layout::kPlain);
  return out;
}

// ---- Views ----

NodeLayouts View(const graph::Node& node, Layout from, Layout to) {
  NodeLayouts out{.inputs = std::vector<Layout>(node.inputs.size(), Layout::kPlain),
                  .outputs = {to}};
  out.inputs[0] = from;
  return out;
}

// A channels-last image stays one if the view keeps images and channels. If each channel has one
// element, the memory is that of a plain one.
NodeLayouts ViewLayouts(Region& region, const graph::Node& node) {
  const auto layout = [&](Literal name) {
    return node.Int(name, 0) != 0 ? kChannelsLastLayout : Layout::kPlain;
  };
  if (region.module.OperatorOf(node).name == "Relabel") {
    return View(node, layout("from"), layout("to"));
  }
  const ValueId x = node.inputs[0], y = node.outputs[0];
  if (y == kNone || region.LayoutOf(x) != kChannelsLastLayout) return {};
  const bool keeps = region.Decide([x, y](const Region& r) {
    const Dims from = r.DimsOf(x), to = r.DimsOf(y);
    return HasChannels(to) && from[0] == to[0] && from[1] == to[1] &&
           ElementCount(from) == ElementCount(to);
  });
  if (keeps) return View(node, kChannelsLastLayout, kChannelsLastLayout);
  const bool same = region.Decide([x](const Region& r) {
    const Dims from = r.DimsOf(x);
    return from[0] * from[1] == ElementCount(from);
  });
  return same ? View(node, kChannelsLastLayout, Layout::kPlain) : NodeLayouts();
}

}  // namespace

NodeLayouts LayoutsOfImages(Region& region, graph::NodeId id) {
  const graph::Node& node = region.node(id);
  if (IsBfloat16Conv(region.module.OperatorOf(node))) return Bfloat16Layouts(region, node);
  const Kind kind = KindOf(region.module.OperatorOf(node));
  if (kind == Kind::kNone) return {};
  if (kind == Kind::kView) return ViewLayouts(region, node);
  if (RunsChannelsLast(region, node, kind)) return ChannelsLastLayouts(region, node, kind);
  if (RunsBlocked(region, node, kind)) return BatchBlockedLayouts(region, node, kind);
  return {};
}

}  // namespace hr::cpu
