#include "runtime/lowering/fuse_elementwise.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "runtime/lowering/expression.h"

namespace hr::lowering {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

// Beyond these a chain is cut: programs have a bounded number of registers.
constexpr size_t kMaxSteps = 16;
constexpr size_t kMaxInputs = 12;
constexpr size_t kMaxOperands = 16;  // inputs and constants
// What may be computed again in place of being read: additions of an element, and how often.
constexpr int kMostAgain = 16;
constexpr size_t kMostTimes = 4;

struct ElementwiseChain {
  Expression expression;
  std::vector<ValueId> inputs;  // each once
  std::vector<NodeId> nodes;    // that it stands for
};

class ElementwiseFuser {
 public:
  explicit ElementwiseFuser(Region& region)
      : region_(region), single_(region.node_count()), chains_(region.node_count()) {}

  void Run() {
    auto order = graph::TopologicalOrder(region_.graph());
    if (!order.ok()) return;
    for (NodeId id : *order) single_[id] = ChainOf(id);
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
  // The node alone.
  std::optional<ElementwiseChain> ChainOf(NodeId id) {
    const graph::Node& node = region_.node(id);
    if (node.outputs.size() != 1 || node.outputs[0] == kNone || !node.controls.empty())
      return std::nullopt;
    if (!HasOneScale(id)) return std::nullopt;
    std::vector<DType> types;
    for (ValueId input : node.inputs)
      types.push_back(input == kNone ? DType::kUndefined : region_.DTypeOf(input));
    auto expression = ExpressionOf(region_.module.OperatorOf(node), node, types);
    if (!expression) return std::nullopt;
    ElementwiseChain chain{std::move(*expression), node.inputs, {id}};
    Trim(chain);
    return chain;
  }

  std::optional<ElementwiseChain> ChainEndingAt(NodeId id) {
    std::optional<ElementwiseChain> chain = single_[id];
    // Inlining changes the list of inputs, so it is looked through again after each one.
    for (size_t i = 0; chain && i < chain->inputs.size();) {
      i = Absorb(*chain, i, region_.node(id).outputs[0]) ? 0 : i + 1;
    }
    return chain;
  }

  // Whether the scale and the zero point of a node that quantizes are single numbers, which repeat
  // as operands of element-wise nodes do.
  bool HasOneScale(NodeId id) {
    const bool quantizes =
        region_.Is(id, "", "QuantizeLinear") || region_.Is(id, "", "DequantizeLinear");
    if (!quantizes) return true;
    return region_.Decide([inputs = region_.node(id).inputs](const Region& r) {
      const size_t rank = r.DimsOf(inputs[0]).size();
      return std::all_of(inputs.begin() + 1, inputs.end(), [&](ValueId input) {
        if (input == kNone) return true;
        const Dims dims = r.DimsOf(input);
        return dims.size() <= rank && ElementCount(dims) == 1;
      });
    });
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
                      FollowsFromOneOther(*chains_[region_.Producer(value)], value) &&
                      std::all_of(consumers.begin(), consumers.end(), [&](NodeId id) {
                        return single_[id] && Computes(*single_[id], id, value);
                      });
    return again_[value] = fits;
  }

  bool SameShape(ValueId a, ValueId b) {
    return region_.Decide([a, b](const Region& r) { return r.DimsOf(a) == r.DimsOf(b); });
  }

  // Whether the node can compute a value that it takes.
  bool Computes(const ElementwiseChain& single, NodeId id, ValueId value) {
    return single.expression.compute == region_.DTypeOf(value) &&
           SameShape(value, region_.node(id).outputs[0]);
  }

  // Whether a chain takes one value as large as its result, and else only single numbers.
  bool FollowsFromOneOther(const ElementwiseChain& chain, ValueId result) {
    const DType dtype = chain.expression.compute;
    if (!IsFloating(dtype) || chain.expression.Cost() > kMostAgain) return false;
    const auto typed = [&](ValueId input) { return region_.DTypeOf(input) == dtype; };
    return region_.DTypeOf(result) == dtype &&
           std::all_of(chain.inputs.begin(), chain.inputs.end(), typed) &&
           region_.Decide([inputs = chain.inputs, result](const Region& r) {
             const Dims dims = r.DimsOf(result);
             const auto large = [&](ValueId input) { return r.DimsOf(input) == dims; };
             const auto number = [&](ValueId input) { return ElementCount(r.DimsOf(input)) == 1; };
             return std::count_if(inputs.begin(), inputs.end(), large) == 1 &&
                    std::all_of(inputs.begin(), inputs.end(),
                                [&](ValueId input) { return large(input) || number(input); });
           });
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
    if (chain.expression.steps.size() + inner.expression.steps.size() > kMaxSteps) return false;
    const size_t inputs = chain.inputs.size() + inner.inputs.size() - 1;
    const size_t constants = chain.expression.constants.size() + inner.expression.constants.size();
    if (inputs > kMaxInputs || inputs + constants > kMaxOperands) return false;
    if (!SameShape(input, out)) return false;
    chain.expression = chain.expression.Inline(static_cast<int>(i), inner.expression);
    chain.inputs.insert(chain.inputs.end(), inner.inputs.begin(), inner.inputs.end());
    if (alone) {
      chain.nodes.insert(chain.nodes.end(), inner.nodes.begin(), inner.nodes.end());
      absorbed_.insert(producer);
    }
    Trim(chain);
    return true;
  }

  // Makes each value that the chain reads one input, however often it is used. So a value is
  // absorbed for all its uses or for none.
  static void Trim(ElementwiseChain& chain) {
    std::vector<int> kept;
    chain.expression = chain.expression.DropUnusedInputs(&kept);
    std::vector<ValueId> inputs;
    std::vector<int> place;
    for (int i : kept) {
      const ValueId input = chain.inputs[static_cast<size_t>(i)];
      const auto known = std::find(inputs.begin(), inputs.end(), input);
      place.push_back(static_cast<int>(known - inputs.begin()));
      if (known == inputs.end()) inputs.push_back(input);
    }
    chain.expression =
        chain.expression.RenumberInputs(place, static_cast<int>(inputs.size())).MergeEqual();
    chain.inputs = std::move(inputs);
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
