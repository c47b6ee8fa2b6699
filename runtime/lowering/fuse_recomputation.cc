#include "runtime/lowering/fuse_recomputation.h"

#include <algorithm>

#include "runtime/lowering/elementwise_chain.h"

namespace hr::lowering {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

// What a gradient's step may have more to compute, in additions of an element.
constexpr int kMostMore = 24;
// Nodes between y and whom it serves, such as reshapes.
constexpr int kMostViews = 2;
// Inputs, constants and steps: each may need a register of a program.
constexpr size_t kMaxValues = 24;

class RecomputationFuser {
 public:
  explicit RecomputationFuser(Region& region) : region_(region) {}

  void Run() {
    const auto order = graph::TopologicalOrder(region_.graph());
    if (!order.ok()) return;
    for (NodeId id : *order) TryNode(id);
    region_.Sweep();
  }

 private:
  void TryNode(NodeId id) {
    const auto& outputs = region_.node(id).outputs;
    if (outputs.size() != 1 || outputs[0] == kNone || region_.IsFetched(outputs[0])) return;
    if (region_.Consumers(outputs[0]).size() < 2) return;
    const std::optional<ElementwiseChain> function = ChainOf(region_, id);
    if (!function) return;
    const std::optional<ValueId> x = OnlySource(region_, *function, outputs[0]);
    if (!x) return;
    for (NodeId gradient : region_.Consumers(*x)) {
      if (gradient != id && Fuse(*function, outputs[0], gradient)) return;
    }
  }

  // Whether the node comes behind one of `early`, or all whom it serves do.
  bool ComesLater(NodeId id, std::span<const NodeId> early, int depth = 0) const {
    if (region_.NeedOneOf({id}, early)) return true;
    const auto& outputs = region_.node(id).outputs;
    if (depth == kMostViews || outputs.size() != 1 || region_.IsFetched(outputs[0])) return false;
    const std::vector<NodeId> consumers = region_.Consumers(outputs[0]);
    return !consumers.empty() && std::all_of(consumers.begin(), consumers.end(), [&](NodeId one) {
      return ComesLater(one, early, depth + 1);
    });
  }

  // The nodes that take `y` behind others that do, on which `gradient` depends as well, and may
  // take it from `gradient`.
  std::vector<NodeId> LateConsumers(ValueId y, NodeId gradient) const {
    std::vector<NodeId> early, others;
    for (NodeId id : region_.Consumers(y)) {
      const NodeId one[] = {id};
      (region_.NeedOneOf({gradient}, one) ? early : others).push_back(id);
    }
    const bool reads = std::find(early.begin(), early.end(), gradient) != early.end();
    if (reads) return {};
    std::erase_if(others, [&](NodeId id) { return !ComesLater(id, early); });
    return others;
  }

  bool Fuse(const ElementwiseChain& function, ValueId y, NodeId gradient) {
    if (region_.IsDead(gradient)) return false;
    std::optional<ElementwiseChain> chain = ChainOf(region_, gradient);
    if (!chain || chain->expression.compute != function.expression.compute) return false;
    const ValueId dx = region_.node(gradient).outputs[0];
    const std::vector<NodeId> late = LateConsumers(y, gradient);
    if (late.empty() || !SameShape(region_, y, dx)) return false;
    const int before = chain->expression.Cost();
    chain->expression = chain->expression.Beside(function.expression);
    chain->inputs.insert(chain->inputs.end(), function.inputs.begin(), function.inputs.end());
    chain->Trim();
    const Expression& both = chain->expression;
    const size_t values = chain->inputs.size() + both.constants.size() + both.steps.size();
    if (both.Cost() - before > kMostMore || values > kMaxValues) return false;
    if (chain->inputs.size() > kMaxChainInputs) return false;
    Rewrite(*chain, y, gradient, late);
    return true;
  }

  void Rewrite(const ElementwiseChain& chain, ValueId y, NodeId gradient,
               std::span<const NodeId> late) {
    const graph::Node node = region_.node(gradient);
    const ValueId again = region_.AddValue(
        region_.DTypeOf(y), [y](const Region& r) { return r.DimsOf(y); },
        region_.value(y).name + "/again");
    const NodeId fused = region_.AddNode("Elementwise", chain.inputs, {node.outputs[0], again},
                                         chain.expression.ToAttributes(), node.name);
    region_.Replace(gradient, fused);
    for (NodeId id : late) region_.ReplaceInput(id, y, again);
  }

  Region& region_;
};

}  // namespace

void FuseRecomputation(Region& region) { RecomputationFuser(region).Run(); }

}  // namespace hr::lowering
