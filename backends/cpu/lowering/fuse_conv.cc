#include "backends/cpu/lowering/fuse_conv.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "backends/cpu/kernels/conv_batch_blocked.h"
#include "backends/cpu/lowering/conv_gradients.h"
#include "backends/cpu/lowering/conv_layouts.h"
#include "backends/cpu/ops/window_shape.h"
#include "runtime/lowering/clip.h"
#include "runtime/ops/op_def.h"

namespace hr::cpu {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;
using lowering::Region;

namespace {

constexpr std::string_view kOnnx = "";

// A convolution, the Relu and MaxPool that follow it, and the gradient nodes of these.
struct Chain {
  NodeId conv = kNone;
  NodeId relu = kNone;
  NodeId pool = kNone;
  NodeId relu_grad = kNone;
  NodeId pool_grad = kNone;
  ValueId out = kNone;        // of the last of the forward nodes
  ValueId out_grad = kNone;   // its gradient
  ValueId conv_grad = kNone;  // the gradient of the convolution's own output
};

class Fuser {
 public:
  explicit Fuser(Region& region) : region_(region) {}

  // `blocked`: the convolutions that run batch-blocked.
  void Run(const std::vector<NodeId>& blocked) {
    const size_t count = region_.node_count();
    for (NodeId id = 0; id < count; ++id) {
      if (!region_.Is(id, kOnnx, "Conv")) continue;
      if (std::find(blocked.begin(), blocked.end(), id) != blocked.end()) {
        FuseBlocked(id);
      } else if (region_.node(id).Int(kChannelsLast, 0) != 0) {
        JoinTail(id);
      } else {
        JoinRelu(id);
      }
    }
    region_.Sweep();
  }

 private:
  void FuseBlocked(NodeId conv) {
    Chain chain = MatchPool(MatchRelu(conv));
    FindConvGradient(&chain);
    if (region_.MayJoin({chain.conv, chain.relu, chain.pool})) Rewrite(chain);
  }

  void JoinRelu(NodeId conv) {
    const graph::Node node = region_.node(conv);
    NodeId relu = region_.OnlyConsumer(node.outputs[0]);
    if (!region_.Is(relu, kOnnx, "Relu") || !region_.MayJoin({conv, relu})) return;
    std::vector<graph::Attribute> attributes = node.attributes;
    attributes.push_back({"relu", int64_t{1}});
    ReplaceAll({conv, relu}, region_.AddNode("PlainConv", node.inputs, region_.node(relu).outputs,
                                             std::move(attributes), node.name));
  }

  // What follows a channels-last convolution and is done to its result while that is in the cache:
  // a BatchNormalization with given statistics, an Add of another image, a Relu or a Clip with
  // known bounds; each may be missing.
  void JoinTail(NodeId conv) {
    const graph::Node node = region_.node(conv);
    std::vector<graph::Attribute> attributes = node.attributes;
    std::vector<ValueId> inputs = node.inputs;
    inputs.resize(8, kNone);
    ValueId out = node.outputs[0];
    const NodeId norm = NormAfter(out);
    if (norm != kNone) {
      const graph::Node& taken = region_.node(norm);
      std::copy(taken.inputs.begin() + 1, taken.inputs.end(), inputs.begin() + 3);
      attributes.push_back({"epsilon", taken.Float("epsilon", 1e-5)});
      out = taken.outputs[0];
    }
    const NodeId add = AddAfter(out);
    if (add != kNone) {
      const graph::Node& taken = region_.node(add);
      inputs[7] = taken.inputs[taken.inputs[0] == out ? 1 : 0];
      out = taken.outputs[0];
    }
    const NodeId bound = BoundAfter(out, &attributes);
    if (bound != kNone) out = region_.node(bound).outputs[0];
    if (out == node.outputs[0] || !region_.MayJoin({conv, norm, add, bound})) return;
    ReplaceAll({conv, norm, add, bound}, region_.AddNode("ChannelsLastConv", std::move(inputs),
                                                         {out}, std::move(attributes), node.name));
  }

  NodeId NormAfter(ValueId value) const {
    const NodeId id = region_.OnlyConsumer(value);
    if (!region_.Is(id, kOnnx, "BatchNormalization")) return kNone;
    const graph::Node& node = region_.node(id);
    if (node.Int("training_mode", 0) != 0 || node.inputs.size() != 5 || node.inputs[0] != value) {
      return kNone;
    }
    const DType dtype = region_.DTypeOf(value);
    const bool one_type = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return input != kNone && region_.DTypeOf(input) == dtype;
    });
    return one_type ? id : kNone;
  }

  NodeId BoundAfter(ValueId value, std::vector<graph::Attribute>* attributes) const {
    const NodeId id = region_.OnlyConsumer(value);
    if (region_.Is(id, kOnnx, "Relu")) {
      attributes->push_back({"relu", int64_t{1}});
      return id;
    }
    const auto bounds = lowering::ClipBounds(region_, id);
    if (!bounds || region_.node(id).inputs[0] != value) return kNone;
    attributes->push_back({"low", bounds->low});
    attributes->push_back({"high", bounds->high});
    return id;
  }

  NodeId AddAfter(ValueId value) {
    const NodeId id = region_.OnlyConsumer(value);
    if (!region_.Is(id, kOnnx, "Add")) return kNone;
    const graph::Node& node = region_.node(id);
    const ValueId other = node.inputs[node.inputs[0] == value ? 1 : 0];
    if (other == value) return kNone;
    const bool same = region_.Decide(
        [value, other](const Region& r) { return r.DimsOf(value) == r.DimsOf(other); });
    return same ? id : kNone;
  }

  // The consumers of a value split into the one forward node of the given operator, the gradient
  // nodes of the given operator, and anything else.
  struct Uses {
    NodeId forward = kNone;
    NodeId gradient = kNone;
    bool others = false;
  };
  Uses UsesOf(ValueId value, std::string_view forward, std::string_view gradient,
              size_t grad_input) const {
    Uses uses{.others = region_.IsFetched(value)};
    for (NodeId id : region_.Consumers(value)) {
      const graph::Node& node = region_.node(id);
      if (uses.forward == kNone && region_.Is(id, kOnnx, forward)) {
        uses.forward = id;
      } else if (uses.gradient == kNone && region_.Is(id, ops::kGrad, gradient) &&
                 node.inputs[grad_input] == value) {
        uses.gradient = id;
      } else {
        uses.others = true;
      }
    }
    return uses;
  }

  Chain MatchRelu(NodeId conv) const {
    Chain chain{.conv = conv, .out = region_.node(conv).outputs[0]};
    NodeId relu = region_.OnlyConsumer(chain.out);
    if (!region_.Is(relu, kOnnx, "Relu")) return chain;
    chain.relu = relu;
    chain.out = region_.node(relu).outputs[0];
    return chain;
  }

  // Relu's output may be used by the pool, by the pool's gradient and by Relu's gradient. The
  // gradient of the pool must lead to that of Relu, or the pool is not joined.
  Chain MatchPool(Chain chain) const {
    const ValueId relu_out = chain.out;
    Chain pooled = chain;
    for (NodeId id : region_.Consumers(relu_out)) {
      if (region_.Is(id, kOnnx, "MaxPool")) pooled.pool = id;
      if (region_.Is(id, ops::kGrad, "MaxPoolGrad") && region_.node(id).inputs[1] == relu_out)
        pooled.pool_grad = id;
      if (region_.Is(id, ops::kGrad, "ReluGrad") && region_.node(id).inputs[1] == relu_out)
        pooled.relu_grad = id;
    }
    if (pooled.pool == kNone) return chain;
    size_t known = 1 + (pooled.pool_grad != kNone) + (pooled.relu_grad != kNone);
    if (region_.IsFetched(relu_out) || region_.Consumers(relu_out).size() != known) return chain;
    const graph::Node& pool = region_.node(pooled.pool);
    if (pool.outputs.size() > 1 && pool.outputs[1] != kNone) return chain;
    const bool fits = region_.Decide([pool, relu_out](const Region& region) {
      auto shape = PoolShapeOf(pool, region.DimsOf(relu_out));
      return shape.ok() && CanFuseMaxPool(*shape);
    });
    if (!fits) return chain;
    pooled.out = pool.outputs[0];
    if (pooled.pool_grad != kNone) {
      const graph::Node& grad = region_.node(pooled.pool_grad);
      if (grad.inputs[2] != pooled.out) return chain;
      ValueId back = grad.outputs[0];
      if (chain.relu != kNone &&
          (region_.OnlyConsumer(back) != pooled.relu_grad || pooled.relu_grad == kNone))
        return chain;
      pooled.out_grad = grad.inputs[0];
    } else if (pooled.relu_grad != kNone) {
      return chain;
    }
    return pooled;
  }

  // Finds the gradients of the convolution's output and of the chain's, if there are any.
  void FindConvGradient(Chain* chain) const {
    if (chain->pool == kNone && chain->relu != kNone) {
      Uses uses = UsesOf(chain->out, "", "ReluGrad", 1);
      chain->relu_grad = uses.gradient;
      if (uses.gradient != kNone) chain->out_grad = region_.node(uses.gradient).inputs[0];
    }
    NodeId last = chain->relu != kNone ? chain->relu_grad : chain->pool_grad;
    if (last != kNone) chain->conv_grad = region_.node(last).outputs[0];
    if (chain->relu == kNone && chain->pool == kNone) {
      // Nothing follows the convolution: the gradient is what its gradient nodes take.
      chain->conv_grad = PlainGradient(chain->conv);
      chain->out_grad = chain->conv_grad;
    }
  }

  ValueId PlainGradient(NodeId conv) const {
    for (NodeId id : region_.Consumers(region_.node(conv).inputs[0])) {
      if (IsWeightGradientOf(region_, id, conv)) return region_.node(id).inputs[0];
    }
    return kNone;
  }

  std::vector<graph::Attribute> Attributes(const Chain& chain) const {
    std::vector<graph::Attribute> out = region_.node(chain.conv).attributes;
    out.push_back({"relu", int64_t{chain.relu != kNone}});
    std::vector<int64_t> window = {1, 1};
    if (chain.pool != kNone) {
      auto kernel = region_.node(chain.pool).Ints("kernel_shape");
      window = {kernel.size() == 2 ? kernel[0] : 1, kernel.back()};
    }
    out.push_back({"pool", std::move(window)});
    return out;
  }

  void Rewrite(const Chain& chain) {
    const graph::Node conv = region_.node(chain.conv);
    const std::vector<graph::Attribute> attributes = Attributes(chain);
    ValueId x = conv.inputs[0];
    ValueId w = conv.inputs[1];
    NodeId weight_grad = kNone, input_grad = kNone, bias_grad = kNone;
    bool all_matched = true;
    for (NodeId id : region_.Consumers(chain.conv_grad)) {
      if (weight_grad == kNone && IsWeightGradientOf(region_, id, chain.conv)) {
        weight_grad = id;
      } else if (input_grad == kNone && IsImageGradientOf(region_, id, chain.conv)) {
        input_grad = id;
      } else if (bias_grad == kNone && IsBiasGradient(id)) {
        bias_grad = id;
      } else {
        all_matched = false;
      }
    }
    // The bias' gradient is a by-product of the weights'.
    if (bias_grad != kNone && weight_grad == kNone) all_matched = false;
    bool fused_tail = chain.relu != kNone || chain.pool != kNone;
    // If others use the gradient as well, it must exist in memory, and only the forward part is
    // fused.
    bool backward = chain.conv_grad != kNone &&
                    (!fused_tail || (all_matched && !region_.IsFetched(chain.conv_grad)));
    if (fused_tail && chain.conv_grad != kNone && !backward) return;
    ValueId argmax = kNone;
    if (chain.pool != kNone && backward) {
      argmax = region_.AddValue(
          DType::kUint8,
          [out = chain.out](const Region& region) { return ArgmaxDims(region, out); },
          conv.name + "/argmax");
    }
    NodeId fused = region_.AddNode("Conv", conv.inputs, {chain.out, argmax}, attributes, conv.name);
    ReplaceAll({chain.conv, chain.relu, chain.pool}, fused);
    if (!backward) return;
    ReplaceAll({chain.relu_grad, chain.pool_grad}, fused);
    ValueId saved = argmax != kNone ? argmax : chain.relu != kNone ? chain.out : kNone;
    if (weight_grad != kNone) {
      RewriteWeightGrad(weight_grad, bias_grad, chain, saved, x, attributes);
    }
    if (input_grad == kNone) return;
    const graph::Node node = region_.node(input_grad);
    region_.Replace(input_grad, region_.AddNode("ConvGradInput", {chain.out_grad, saved, w},
                                                node.outputs, attributes, node.name));
  }

  // The map of maxima is laid out like the batch-blocked output, with a byte for each element.
  static Dims ArgmaxDims(const Region& region, ValueId out) {
    Dims dims = region.DimsOf(out);
    int64_t block = 64 / static_cast<int64_t>(DTypeSize(region.DTypeOf(out)));
    dims[0] = (dims[0] + block - 1) / block;
    dims.push_back(block);
    return dims;
  }

  void RewriteWeightGrad(NodeId id, NodeId bias_grad, const Chain& chain, ValueId saved, ValueId x,
                         const std::vector<graph::Attribute>& attributes) {
    const graph::Node node = region_.node(id);
    ValueId dbias = bias_grad == kNone ? kNone : region_.node(bias_grad).outputs[0];
    ReplaceAll({id, bias_grad}, region_.AddNode("ConvGradWeight", {chain.out_grad, saved, x},
                                                {node.outputs[0], dbias}, attributes, node.name));
  }

  void ReplaceAll(std::initializer_list<NodeId> nodes, NodeId by) {
    for (NodeId id : nodes) {
      if (id != kNone) region_.Replace(id, by);
    }
  }

  // ReduceSum over all axes but the channels', without keeping them.
  bool IsBiasGradient(NodeId id) const {
    if (!region_.Is(id, kOnnx, "ReduceSum")) return false;
    const graph::Node& node = region_.node(id);
    if (node.Int("keepdims", 1) != 0 || node.inputs.size() != 2 || node.inputs[1] == kNone)
      return false;
    const Tensor* constant = region_.ConstantOf(node.inputs[1]);
    if (constant == nullptr) return false;
    auto axes = constant->span<int64_t>();
    size_t rank = region_.DimsOf(node.inputs[0]).size();
    if (axes.size() != rank - 1) return false;
    for (size_t axis = 0; axis < rank; ++axis) {
      bool listed = std::any_of(axes.begin(), axes.end(), [&](int64_t a) {
        return a == static_cast<int64_t>(axis) ||
               a + static_cast<int64_t>(rank) == static_cast<int64_t>(axis);
      });
      if (listed == (axis == 1)) return false;
    }
    return true;
  }

  Region& region_;
};

}  // namespace

void FuseConvolutions(Region& region, const ConvChoiceOptions& options) {
  Fuser(region).Run(ChooseConvLayouts(region, options));
}

}  // namespace hr::cpu
