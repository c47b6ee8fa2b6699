#include "runtime/lowering/fuse_elementwise.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "runtime/lowering/elementwise_chain.h"

namespace hr::lowering {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

// What may be computed again in place of being read: additions of an element, and how often.
constexpr int kMostAgain = 16;
constexpr size_t kMostTimes = 4;

class ElementwiseFuser {
 public:
  explicit ElementwiseFuser(Region& region)
      : region_(region), single_(region.node_count()), chains_(region.node_count()) {}

  void Run() {
    auto order = graph::TopologicalOrder(region_.graph());
    if (!order.ok()) return;
    for (NodeId id : *order) single_[id] = ChainOf(region_, id);
    for (NodeId id : *order) chains_[id] = ChainEndingAt(id);
    for (NodeId id : *order) {
      const bool joined = chains_[id] && chains_[id]->inputs != single_[id]->inputs;
      if (joined && !absorbed_.contains(id) && region_.MayJoin(chains_[id]->nodes)) {
        Rewrite(id, *chains_[id]);
      }
    }
    region_.Sweep();
  }

 private:
  std::optional<ElementwiseChain> ChainEndingAt(NodeId id) {
    std::optional<ElementwiseChain> chain = single_[id];
    // Inlining changes the list of inputs, so it is looked through again after each one.
    for (size_t i = 0; chain && i < chain->inputs.size();) {
      i = Absorb(*chain, i, region_.node(id).outputs[0]) ? 0 : i + 1;
    }
    return chain;
  }

  // Whether the chain's nodes are the only ones that take the value.
  bool FeedsOnly(const ElementwiseChain& chain, ValueId value) const {
    const std::vector<NodeId> consumers = region_.Consumers(value);
    return !region_.IsFetched(value) &&
           std::all_of(consumers.begin(), consumers.end(), [&](NodeId id) {
             return std::find(chain.nodes.begin(), chain.nodes.end(), id) != chain.nodes.end();
           });
  }

  // Whether all nodes that take a value shall compute it themselves, so that nobody writes it: it
  // follows cheaply from one other value, which they read instead. A gradient then keeps that one
  // where it would keep several that were computed of it.
  bool IsComputedAgain(ValueId value) {
    const auto known = again_.find(value);
    if (known != again_.end()) return known->second;
    const std::vector<NodeId> consumers = region_.Consumers(value);
    const bool fits = !region_.IsFetched(value) && consumers.size() <= kMostTimes &&
                      FollowsCheaply(*chains_[region_.Producer(value)], value) &&
                      std::all_of(consumers.begin(), consumers.end(), [&](NodeId id) {
                        return single_[id] && Computes(*single_[id], id, value);
                      });
    return again_[value] = fits;
  }

  // Whether the node can compute a value that it takes. Computed again, one of 16 bits is not
  // rounded, and so does not equal what was.
  bool Computes(const ElementwiseChain& single, NodeId id, ValueId value) {
    const bool rounds = DTypeSize(region_.DTypeOf(value)) < 4;
    if (rounds && single.expression.Has(ops::ElementOp::kEqual)) return false;
    return single.expression.compute == region_.DTypeOf(value) &&
           SameShape(region_, value, region_.node(id).outputs[0]);
  }

  // Whether a chain is cheap and takes one value as large as its result, and else only single
  // numbers.
  bool FollowsCheaply(const ElementwiseChain& chain, ValueId result) {
    return chain.expression.Cost() <= kMostAgain && OnlySource(region_, chain, result);
  }

  // Computes input i inside the chain if its producer feeds nobody else, or if all whom it feeds
  // do so.
  bool Absorb(ElementwiseChain& chain, size_t i, ValueId out) {
    ValueId input = chain.inputs[i];
    NodeId producer = region_.Producer(input);
    if (producer == kNone || !chains_[producer]) return false;
    const bool alone = FeedsOnly(chain, input);
    if (!alone && !IsComputedAgain(input)) return false;
    const ElementwiseChain& inner = *chains_[producer];
    // A value between two steps has the chain's type and its output's shape.
    bool same = region_.DTypeOf(input) == chain.expression.compute &&
                inner.expression.compute == chain.expression.compute;
    if (!same || !IsFloating(chain.expression.compute)) return false;
    if (chain.expression.steps.size() + inner.expression.steps.size() > kMaxChainSteps)
      return false;
    const size_t inputs = chain.inputs.size() + inner.inputs.size() - 1;
    const size_t constants = chain.expression.constants.size() + inner.expression.constants.size();
    if (inputs > kMaxChainInputs || inputs + constants > kMaxChainOperands) return false;
    if (!SameShape(region_, input, out)) return false;
    chain.expression = chain.expression.Inline(static_cast<int>(i), inner.expression);
    chain.inputs.insert(chain.inputs.end(), inner.inputs.begin(), inner.inputs.end());
    if (alone) {
      chain.nodes.insert(chain.nodes.end(), inner.nodes.begin(), inner.nodes.end());
      absorbed_.insert(producer);
    }
    chain.Trim();
    return true;
  }

  void Rewrite(NodeId id, const ElementwiseChain& chain) {
    const graph::Node node = region_.node(id);
    NodeId fused = region_.AddNode("Elementwise", chain.inputs, node.outputs,
                                   chain.expression.ToAttributes(), node.name);
    for (NodeId member : chain.nodes) region_.Replace(member, fused);
  }

  Region& region_;
  std::vector<std::optional<ElementwiseChain>> single_, chains_;  // by node
  std::map<ValueId, bool> again_;
  std::set<NodeId> absorbed_;
};

}  // namespace

void FuseElementwise(Region& region) { ElementwiseFuser(region).Run(); }

}  // namespace hr::lowering
