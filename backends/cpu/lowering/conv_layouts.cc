#include "backends/cpu/lowering/conv_layouts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <optional>

#include "backends/cpu/kernels/batch_blocked.h"
#include "backends/cpu/lowering/conv_gradients.h"
#include "backends/cpu/onednn/kernels.h"
#include "backends/cpu/ops/conv_cost.h"
#include "backends/cpu/ops/window_shape.h"
#include "runtime/base/json_writer.h"
#include "runtime/lowering/choice.h"
#include "runtime/ops/op_def.h"

namespace hr::cpu {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;
using lowering::Region;

namespace {

constexpr std::string_view kOnnx = "";

struct UsedConv {
  graph::Node node;
  ConvUse use;
};

constexpr Layout kLayouts[] = {Layout::kPlain, kBatchBlockedLayout, kChannelsLastLayout};

// What a convolution costs at the region's sizes; of no interest (0) if nothing can be said.
ConvEstimate CostOf(const Region& region, const UsedConv& conv, Layout layout,
                    const ConvCosts& costs) {
  const DType dtype = region.DTypeOf(conv.node.inputs[0]);
  const Dims x = region.DimsOf(conv.node.inputs[0]);
  const auto shape = ConvShapeOf(conv.node, x, region.DimsOf(conv.node.inputs[1]));
  const auto only_plain = [&] {
    return ConvEstimate{.passes = layout == Layout::kPlain ? 0 : HUGE_VAL};
  };
  if (!shape.ok() || x.size() > 4) return only_plain();
  if (dtype == DType::kFloat32) return EstimateConv(*shape, conv.use, layout, costs);
  if (dtype != DType::kFloat64) return only_plain();
  // Half-empty blocks still beat kernels whose lanes are columns of small images.
  if (x[0] >= kBatchBlock<double> / 2) return {.passes = layout == kBatchBlockedLayout ? 0. : 1.};
  ConvUse use = conv.use;
  use.onednn = false;
  use.wide = true;
  if (layout == kBatchBlockedLayout) return {.passes = HUGE_VAL};
  return EstimateConv(*shape, use, layout, costs);
}

// Convolutions that run in one layout.
struct Together {
  std::vector<UsedConv> convs;
  ConvCosts costs;
  std::optional<Layout> pinned;

  double Total(const Region& region, Layout layout) const {
    double sum = 0;
    for (const UsedConv& conv : convs) sum += CostOf(region, conv, layout, costs).total();
    return sum;
  }
  bool IsPinned(const Region& region) const { return pinned && Total(region, *pinned) < HUGE_VAL; }
  // Whether it is the pinned one, or costs less than all others.
  bool IsChosen(const Region& region, Layout layout) const {
    if (IsPinned(region)) return layout == *pinned;
    const double cost = Total(region, layout);
    return std::all_of(std::begin(kLayouts), std::end(kLayouts), [&](Layout other) {
      return other == layout || Total(region, other) > cost;
    });
  }
  // Returns the best but the chosen one; nothing if there is no other.
  std::optional<Layout> RunnerUp(const Region& region, Layout chosen) const {
    std::optional<Layout> best;
    for (const Layout layout : kLayouts) {
      if (layout == chosen || Total(region, layout) == HUGE_VAL) continue;
      if (!best || Total(region, layout) < Total(region, *best)) best = layout;
    }
    return best;
  }
};

// The layout that was chosen for some convolutions, and the next best one.
class Choice {
 public:
  Choice(const Region& region, const Together& all, Layout layout)
      : region_(region),
        all_(all),
        chosen_(layout),
        other_(all.RunnerUp(region, layout)),
        pinned_(all.IsPinned(region)),
        sum_(all.Total(region, layout)),
        other_sum_(other_ ? all.Total(region, *other_) : 0) {}

  // Returns what plans say of one of them: estimates of all its passes on one thread.
  std::string Text(const UsedConv& conv) const {
    JsonWriter json;
    json.BeginObject();
    Write(json, conv, chosen_, sum_);
    json.Field("pinned", pinned_).Field("together", all_.convs.size());
    if (other_) {
      json.Key("runner_up").BeginObject();
      Write(json, conv, *other_, other_sum_);
      json.EndObject();
    }
    json.EndObject();
    return json.Take();
  }

 private:
  void Write(JsonWriter& json, const UsedConv& conv, Layout layout, double sum) const {
    const ConvEstimate cost = CostOf(region_, conv, layout, all_.costs);
    json.Field("layout", LayoutName(layout))
        .Field("method", cost.method)
        .Field("passes_us", cost.passes / 1000)
        .Field("copies_us", cost.copies / 1000)
        .Field("together_us", sum / 1000);
  }

  const Region& region_;
  const Together& all_;
  const Layout chosen_;
  const std::optional<Layout> other_;
  const bool pinned_;
  const double sum_, other_sum_;  // of all of them, in either layout
};

class Chooser {
 public:
  Chooser(Region& region, const ConvChoiceOptions& options) : region_(region), options_(options) {}

  std::vector<NodeId> Run() {
    Connect();
    std::map<size_t, std::vector<NodeId>> components;
    for (NodeId id = 0; id < region_.node_count(); ++id) {
      if (IsConv(id)) components[Root(region_.node(id).outputs[0])].push_back(id);
    }
    std::vector<NodeId> blocked;
    for (const auto& [root, convs] : components) {
      const auto all = std::make_shared<Together>(
          Together{.costs = options_.costs, .pinned = options_.pins.layout});
      for (const NodeId id : convs) all->convs.push_back({region_.node(id), UseOf(id)});
      Layout chosen = Layout::kPlain;
      for (const Layout layout : {kBatchBlockedLayout, kChannelsLastLayout}) {
        const bool is_chosen =
            chosen == Layout::kPlain && region_.Decide([all, layout](const Region& region) {
              return all->IsChosen(region, layout);
            });
        if (is_chosen) chosen = layout;
      }
      const Choice choice(region_, *all, chosen);
      for (size_t i = 0; i < convs.size(); ++i) {
        Note(convs[i], chosen, choice.Text(all->convs[i]));
      }
      if (chosen == kBatchBlockedLayout) blocked.insert(blocked.end(), convs.begin(), convs.end());
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
    ConvUse use{.exact_sums = options_.exact_sums, .onednn = onednn::Available()};
    for (const NodeId id : GradientsOf(conv)) {
      use.backward_weights |= region_.Is(id, ops::kGrad, "ConvGradWeight");
      use.backward_data |= region_.Is(id, ops::kGrad, "ConvGradInput");
    }
    use.x_is_plain = !TakesAnyLayout(region_.Producer(node.inputs[0]));
    use.y_is_plain = region_.IsFetched(node.outputs[0]);
    for (const NodeId id : region_.Consumers(node.outputs[0])) {
      use.y_is_plain |= !TakesAnyLayout(id);
    }
    return use;
  }

  std::vector<NodeId> GradientsOf(NodeId conv) const {
    std::vector<NodeId> out = region_.Consumers(region_.node(conv).inputs[1]);
    std::erase_if(out, [&](NodeId id) {
      return !IsImageGradientOf(region_, id, conv) && !IsWeightGradientOf(region_, id, conv);
    });
    return out;
  }

  void Note(NodeId conv, Layout chosen, std::string choice) {
    if (chosen == kChannelsLastLayout) Mark(conv, kChannelsLast, int64_t{1});
    const std::string& kernel = options_.pins.kernel;
    if (!kernel.empty()) Mark(conv, kPinnedKernel, kernel);
    Mark(conv, lowering::kChoice, std::move(choice));
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
  const ConvChoiceOptions& options_;
  std::vector<size_t> parents_;
};

}  // namespace

std::vector<NodeId> ChooseConvLayouts(Region& region, const ConvChoiceOptions& options) {
  return Chooser(region, options).Run();
}

}  // namespace hr::cpu
