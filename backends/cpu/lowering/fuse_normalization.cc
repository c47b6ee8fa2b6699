#include "backends/cpu/lowering/fuse_normalization.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace hr::cpu {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;
using lowering::Region;

constexpr std::string_view kNormGrads = "headrace.grad";

// A normalization, the nodes that follow it, and their gradients; kNone where there is none.
struct NormChain {
  NodeId norm = kNone, add = kNone, relu = kNone;
  NodeId grad = kNone, relu_grad = kNone;
  ValueId residual = kNone, out = kNone;
};

class NormalizationFuser {
 public:
  explicit NormalizationFuser(Region& region) : region_(region) {}

  void Run() {
    for (NodeId id = 0, count = static_cast<NodeId>(region_.node_count()); id < count; ++id) {
      if (!IsTraining(id)) continue;
      NormChain chain{.norm = id, .grad = GradientOf(id), .out = region_.node(id).outputs[0]};
      MatchTail(&chain);
      if (chain.grad != kNone || chain.relu != kNone) Rewrite(chain);
    }
    region_.Sweep();
  }

 private:
  bool IsTraining(NodeId id) const {
    if (!region_.Is(id, "", "BatchNormalization")) return false;
    const graph::Node& node = region_.node(id);
    const DType dtype = region_.DTypeOf(node.inputs[0]);
    return node.Int("training_mode", 0) != 0 && node.outputs[0] != kNone &&
           (dtype == DType::kFloat32 || dtype == DType::kFloat64) &&
           std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId input) { return region_.DTypeOf(input) == dtype; });
  }

  NodeId GradientOf(NodeId norm) const {
    const graph::Node& node = region_.node(norm);
    for (NodeId id : region_.Consumers(node.inputs[0])) {
      if (!region_.Is(id, kNormGrads, "BatchNormalizationGrad")) continue;
      const graph::Node& grad = region_.node(id);
      const bool same = grad.inputs[1] == node.inputs[0] && grad.inputs[2] == node.inputs[1] &&
                        grad.attributes == node.attributes;
      if (same && !Needs(norm, id)) return id;
    }
    return kNone;
  }

  void MatchTail(NormChain* chain) {
    const ValueId normalized = chain->out;
    NodeId next = region_.OnlyConsumer(normalized);
    if (next == kNone) return;
    ValueId residual = kNone;
    const NodeId add = AddOf(next, normalized, &residual);
    if (add != kNone) next = region_.OnlyConsumer(region_.node(add).outputs[0]);
    const bool free = next != kNone && region_.node(next).controls.empty() &&
                      (add == kNone || region_.node(add).controls.empty());
    if (!free || !region_.Is(next, "", "Relu") || !region_.MayJoin({chain->norm, add, next})) {
      return;
    }
    chain->relu = next;
    chain->out = region_.node(next).outputs[0];
    chain->add = add;
    chain->residual = residual;
    if (add == kNone) chain->relu_grad = ReluGradBefore(*chain);
  }

  // Returns `next` if it adds another image to the normalized one.
  NodeId AddOf(NodeId next, ValueId normalized, ValueId* residual) {
    if (!region_.Is(next, "", "Add")) return kNone;
    const graph::Node& node = region_.node(next);
    const ValueId other = node.inputs[node.inputs[0] == normalized ? 1 : 0];
    if (other == normalized || Needs(region_.Producer(other), region_.Producer(normalized))) {
      return kNone;
    }
    const bool same =
        region_.Decide([=](const Region& r) { return r.DimsOf(other) == r.DimsOf(normalized); });
    if (same) *residual = other;
    return same ? next : kNone;
  }

  // Whether `node` is `other` or runs after it.
  bool Needs(NodeId node, NodeId other) const {
    return node != kNone && region_.NeedOneOf({node}, {&other, 1});
  }

  // The gradient of the chain's ReLU, if nothing but the normalization's takes it.
  NodeId ReluGradBefore(const NormChain& chain) const {
    if (chain.grad == kNone) return kNone;
    const ValueId dy = region_.node(chain.grad).inputs[0];
    const NodeId id = region_.Producer(dy);
    const bool fits = id != kNone && region_.Is(id, kNormGrads, "ReluGrad") &&
                      region_.node(id).inputs[1] == chain.out &&
                      region_.OnlyConsumer(dy) == chain.grad;
    return fits ? id : kNone;
  }

  ValueId AddStatistics(ValueId scale, std::string name) {
    return region_.AddValue(
        region_.DTypeOf(scale), [scale](const Region& r) { return r.DimsOf(scale); },
        std::move(name));
  }

  void Rewrite(const NormChain& chain) {
    const graph::Node node = region_.node(chain.norm);
    std::vector<ValueId> inputs = node.inputs, outputs = node.outputs;
    inputs.push_back(chain.residual);
    outputs.resize(5, kNone);
    outputs[0] = chain.out;
    std::vector<graph::Attribute> attributes = node.attributes;
    attributes.push_back({"relu", int64_t{chain.relu != kNone}});
    if (chain.grad != kNone) {
      outputs[3] = AddStatistics(inputs[1], node.name + "/mean");
      outputs[4] = AddStatistics(inputs[1], node.name + "/variance");
    }
    const NodeId fused =
        region_.AddNode("BatchNormalization", inputs, outputs, std::move(attributes), node.name);
    for (NodeId id : {chain.norm, chain.add, chain.relu}) {
      if (id != kNone) region_.Replace(id, fused);
    }
    if (chain.grad != kNone) RewriteGradient(chain, inputs[2], outputs[3], outputs[4]);
  }

  void RewriteGradient(const NormChain& chain, ValueId bias, ValueId mean, ValueId variance) {
    const graph::Node grad = region_.node(chain.grad);
    const bool relu = chain.relu_grad != kNone;
    const ValueId dy = relu ? region_.node(chain.relu_grad).inputs[0] : grad.inputs[0];
    const NodeId fused =
        region_.AddNode("BatchNormalizationGrad",
                        {dy, grad.inputs[1], grad.inputs[2], mean, variance, relu ? bias : kNone},
                        grad.outputs, grad.attributes, grad.name);
    region_.Replace(chain.grad, fused);
    if (relu) region_.Replace(chain.relu_grad, fused);
  }

  Region& region_;
};

}  // namespace

void FuseNormalizations(Region& region) { NormalizationFuser(region).Run(); }

}  // namespace hr::cpu
