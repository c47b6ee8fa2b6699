#include "backends/cpu/lowering/conv_layouts.h"

#include <cmath>
#include <map>
#include <memory>
#include <numeric>

#include "backends/cpu/kernels/batch_blocked.h"
#include "backends/cpu/onednn/kernels.h"
#include "backends/cpu/ops/conv_cost.h"
#include "backends/cpu/ops/window_shape.h"

namespace hr::cpu {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;
using lowering::Region;

namespace {

constexpr std::string_view kOnnx = "";
constexpr std::string_view kGrad = "headrace.grad";

struct UsedConv {
  graph::Node node;
  ConvUse use;
};

// What a convolution costs at the region's sizes; of no interest (0) if nothing can be said.
double CostOf(const Region& region, const UsedConv& conv, Layout layout) {
  const DType dtype = region.DTypeOf(conv.node.inputs[0]);
  const Dims x = region.DimsOf(conv.node.inputs[0]);
  const auto shape = ConvShapeOf(conv.node, x, region.DimsOf(conv.node.inputs[1]));
  if (!shape.ok() || x.size() > 4) return layout == Layout::kPlain ? 0 : HUGE_VAL;
  if (dtype == DType::kFloat32) return ConvCost(*shape, conv.use, layout);
  if (dtype != DType::kFloat64) return layout == Layout::kPlain ? 0 : HUGE_VAL;
  // Half-empty blocks still beat kernels whose lanes are columns of small images.
  if (x[0] >= kBatchBlock<double> / 2) return layout == kBatchBlockedLayout ? 0 : 1;
  ConvUse use = conv.use;
  use.onednn = false;
  return layout == kBatchBlockedLayout ? HUGE_VAL : ConvCost(*shape, use, layout);
}

bool IsChosen(const Region& region, const std::vector<UsedConv>& convs, Layout layout,
              std::optional<Layout> pinned) {
  const auto total = [&](Layout l) {
    double sum = 0;
    for (const UsedConv& conv : convs) sum += CostOf(region, conv, l);
    return sum;
  };
  if (pinned && total(*pinned) < HUGE_VAL) return layout == *pinned;
  const double cost = total(layout);
  for (const Layout other : {Layout::kPlain, kBatchBlockedLayout, kChannelsLastLayout}) {
    if (other != layout && total(other) <= cost) return false;
  }
  return true;
}

class Chooser {
 public:
  Chooser(Region& region, bool exact_sums, const ConvPins& pins)
      : region_(region), exact_sums_(exact_sums), pins_(pins) {}

  std::vector<NodeId> Run() {
    Connect();
    std::map<size_t, std::vector<NodeId>> components;
    for (NodeId id = 0; id < region_.node_count(); ++id) {
      if (IsConv(id)) components[Root(region_.node(id).outputs[0])].push_back(id);
    }
    std::vector<NodeId> blocked;
    for (const auto& [root, convs] : components) {
      auto used = std::make_shared<std::vector<UsedConv>>();
      for (const NodeId id : convs) used->push_back({region_.node(id), UseOf(id)});
      const auto is_chosen = [&](Layout layout) {
        return region_.Decide([used, layout, pinned = pins_.layout](const Region& region) {
          return IsChosen(region, *used, layout, pinned);
        });
      };
      if (is_chosen(kBatchBlockedLayout)) {
        blocked.insert(blocked.end(), convs.begin(), convs.end());
      } else if (is_chosen(kChannelsLastLayout)) {
        for (const NodeId id : convs) Mark(id, kChannelsLast, int64_t{1});
      }
      if (pins_.kernel.empty()) continue;
      for (const NodeId id : convs) Mark(id, kPinnedKernel, pins_.kernel);
    }
    return blocked;
  }

 private:
  bool IsConv(NodeId id) const { return region_.Is(id, kOnnx, "Conv"); }

  // ---- Images that share a layout ----

  void Connect() {
    parents_.resize(region_.graph().values.size());
    std::iota(parents_.begin(), parents_.end(), size_t{0});
    for (NodeId id = 0; id < region_.node_count(); ++id) {
      if (!TakesAnyLayout(id)) continue;
      const graph::Node& node = region_.node(id);
      for (const ValueId input : node.inputs) {
        if (IsImage(input)) Join(input, node.outputs[0]);
      }
    }
  }
  bool IsImage(ValueId value) const {
    return value != kNone && IsFloating(region_.DTypeOf(value)) &&
           region_.DimsOf(value).size() > 2 && !IsWeight(value);
  }
  // Weights of convolutions are read from variables or are constants.
  bool IsWeight(ValueId value) const {
    if (region_.Producer(value) == kNone) return region_.value(value).constant != kNone;
    return region_.module.OperatorOf(region_.node(region_.Producer(value))).name == "Read";
  }
  size_t Root(ValueId value) {
    size_t root = value;
    while (parents_[root] != root) root = parents_[root] = parents_[parents_[root]];
    return root;
  }
  void Join(ValueId a, ValueId b) { parents_[Root(a)] = Root(b); }

  // Returns whether the node may run on images in another layout. Inputs have no node.
  bool TakesAnyLayout(NodeId id) const {
    if (id == kNone) return false;
    const graph::Operator& op = region_.module.OperatorOf(region_.node(id));
    const KernelEntry* entry = FindKernel(op);
    if (entry == nullptr || region_.node(id).outputs.empty()) return false;
    return entry->any_layout || op.name.starts_with("Conv");
  }

  // ---- What the graph asks of a convolution ----

  ConvUse UseOf(NodeId conv) const {
    const graph::Node& node = region_.node(conv);
    ConvUse use{.exact_sums = exact_sums_, .onednn = onednn::Available()};
    for (const NodeId id : GradientsOf(conv)) {
      use.backward_weights |= region_.Is(id, kGrad, "ConvGradWeight");
      use.backward_data |= region_.Is(id, kGrad, "ConvGradInput");
    }
    use.x_is_plain = !TakesAnyLayout(region_.Producer(node.inputs[0]));
    for (const NodeId id : region_.Consumers(node.outputs[0])) {
      use.y_is_plain |= !TakesAnyLayout(id);
    }
    return use;
  }

  std::vector<NodeId> GradientsOf(NodeId conv) const {
    const graph::Node& node = region_.node(conv);
    const ValueId x = node.inputs[0], w = node.inputs[1];
    std::vector<NodeId> out;
    for (const NodeId id : region_.Consumers(w)) {
      const auto& inputs = region_.node(id).inputs;
      if ((region_.Is(id, kGrad, "ConvGradWeight") && inputs[1] == x) ||
          (region_.Is(id, kGrad, "ConvGradInput") && inputs[2] == x)) {
        out.push_back(id);
      }
    }
    return out;
  }

  // Gives a convolution and its gradients an attribute.
  void Mark(NodeId conv, Literal name, const graph::AttributeValue& value) {
    std::vector<NodeId> nodes = GradientsOf(conv);
    nodes.push_back(conv);
    for (const NodeId id : nodes) {
      graph::Node& node = region_.graph().nodes[id];
      if (node.Find(name) == nullptr)
        node.attributes.push_back({std::string(std::string_view(name)), value});
    }
  }

  Region& region_;
  const bool exact_sums_;
  const ConvPins& pins_;
  std::vector<size_t> parents_;
};

}  // namespace

std::vector<NodeId> ChooseConvLayouts(Region& region, bool exact_sums, const ConvPins& pins) {
  return Chooser(region, exact_sums, pins).Run();
}

}  // namespace hr::cpu
