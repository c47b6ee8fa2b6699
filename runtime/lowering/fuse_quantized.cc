#include "runtime/lowering/fuse_quantized.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/lowering/activation.h"
#include "runtime/lowering/clip.h"

namespace hr::lowering {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

bool IsByte(DType dtype) { return dtype == DType::kInt8 || dtype == DType::kUint8; }

// What a value was before it was dequantized; of a product's left-hand side with one scale, of its
// right-hand side with one for each column or filter at most.
struct Quantized {
  ValueId number = kNone, scale = kNone, zero = kNone;
};

// A product and the nodes around it that it takes in.
struct QuantizedChain {
  bool conv = false;
  Quantized a, b;
  ValueId y_scale = kNone, y_zero = kNone, offset = kNone;
  Bounds bounds;
  ValueId output = kNone;     // of the last node so far
  std::vector<NodeId> nodes;  // that vanish
  std::vector<graph::Attribute> attributes;
  std::string name;
};

class QuantizedFuser {
 public:
  explicit QuantizedFuser(Region& region) : region_(region) {}

  void Run() {
    const size_t count = region_.node_count();
    for (NodeId id = 0; id < count; ++id) {
      if (region_.IsDead(id)) continue;
      if (region_.Is(id, "", "MatMulInteger") || region_.Is(id, "", "ConvInteger")) {
        if (auto chain = OfIntegers(id)) Rewrite(*chain);
      } else if (IsProduct(id)) {
        if (auto chain = OfDequantized(id)) {
          Rewrite(*chain);
        } else {
          JoinWeights(id);
        }
      }
    }
    region_.Sweep();
  }

 private:
  const graph::Node& node(NodeId id) const { return region_.node(id); }
  ValueId InputOf(NodeId id, size_t i) const {
    return i < node(id).inputs.size() ? node(id).inputs[i] : kNone;
  }
  bool IsFloat(ValueId value) const { return region_.DTypeOf(value) == DType::kFloat32; }
  bool IsOne(ValueId value) const {
    return region_.Decide([value](const Region& r) { return ElementCount(r.DimsOf(value)) == 1; });
  }

  // Plain products: C = A B [+ C].
  bool IsProduct(NodeId id) const {
    if (region_.Is(id, "", "Conv") || region_.Is(id, "", "MatMul")) return true;
    return region_.Is(id, "", "Gemm") && node(id).Int("transA", 0) == 0 &&
           node(id).Float("alpha", 1) == 1 && node(id).Float("beta", 1) == 1;
  }
  static int64_t AxisOfColumns(const Region& region, ValueId b, bool conv, bool transposed) {
    return conv || transposed ? 0 : static_cast<int64_t>(region.DimsOf(b).size()) - 1;
  }

  // Whether a parameter has one number, or one for each column of `whole` (channel, in images).
  bool IsOfColumns(ValueId value, ValueId whole, bool conv) const {
    return region_.Decide([=](const Region& r) {
      const Dims dims = r.DimsOf(value), all = r.DimsOf(whole);
      const int64_t elements = ElementCount(dims);
      if (dims.size() > all.size()) return false;
      if (elements == 1) return true;
      const size_t behind = conv ? all.size() - 2 : 0;
      return dims.size() > behind && dims[dims.size() - 1 - behind] == elements &&
             all[all.size() - 1 - behind] == elements;
    });
  }

  // The other operand of a commutative node that takes `value` once; kNone for other nodes.
  ValueId Other(NodeId id, std::string_view name, ValueId value) const {
    if (!region_.Is(id, "", name)) return kNone;
    const auto& inputs = node(id).inputs;
    if (inputs[0] == inputs[1]) return kNone;
    return inputs[0] == value ? inputs[1] : inputs[0];
  }

  // ---- Sums of integers, scaled ----

  std::optional<QuantizedChain> OfIntegers(NodeId id) const {
    QuantizedChain chain{.conv = region_.Is(id, "", "ConvInteger"),
                         .a = {.number = InputOf(id, 0), .zero = InputOf(id, 2)},
                         .b = {.number = InputOf(id, 1), .zero = InputOf(id, 3)},
                         .output = node(id).outputs[0],
                         .nodes = {id},
                         .attributes = node(id).attributes,
                         .name = node(id).name};
    const NodeId cast = region_.OnlyConsumer(chain.output);
    if (!region_.Is(cast, "", "Cast") || !IsFloat(node(cast).outputs[0])) return std::nullopt;
    Take(cast, &chain);
    const NodeId scaling = region_.OnlyConsumer(chain.output);
    const ValueId scale = Other(scaling, "Mul", chain.output);
    if (scale == kNone || !IsFloat(scale) || !IsOfColumns(scale, chain.output, chain.conv)) {
      return std::nullopt;
    }
    Take(scaling, &chain);
    SplitScale(scale, &chain);
    TakeBias(&chain);
    TakeBounds(&chain);
    return chain;
  }

  // A scale is often the product of those of both operands.
  void SplitScale(ValueId scale, QuantizedChain* chain) const {
    chain->b.scale = scale;
    const NodeId product = region_.Producer(scale);
    if (!region_.Is(product, "", "Mul")) return;
    if (region_.OnlyConsumer(scale) == kNone) return;
    const ValueId left = node(product).inputs[0], right = node(product).inputs[1];
    if (!IsOfColumns(left, chain->output, chain->conv) ||
        !IsOfColumns(right, chain->output, chain->conv)) {
      return;
    }
    if (IsOne(left)) {
      chain->a.scale = left, chain->b.scale = right;
    } else if (IsOne(right)) {
      chain->a.scale = right, chain->b.scale = left;
    }
  }

  // ---- Dequantized operands ----

  // The operand behind a DequantizeLinear that kernels take; `axis`: that along which it may have
  // several scales, or -1.
  std::optional<Quantized> Dequantized(ValueId value, int64_t axis) const {
    const NodeId id = region_.Producer(value);
    if (!region_.Is(id, "", "DequantizeLinear")) return std::nullopt;
    const Quantized found{InputOf(id, 0), InputOf(id, 1), InputOf(id, 2)};
    const bool supported = IsByte(region_.DTypeOf(found.number)) && IsFloat(found.scale) &&
                           IsFloat(value) && node(id).Int("block_size", 0) == 0;
    if (!supported) return std::nullopt;
    if (IsOne(found.scale)) return found;
    const int64_t given = node(id).Int("axis", 1);
    const auto rank = static_cast<int64_t>(region_.DimsOf(value).size());
    if (axis < 0 || (given < 0 ? given + rank : given) != axis) return std::nullopt;
    return found;
  }

  std::optional<Quantized> Weights(NodeId id) const {
    const ValueId b = node(id).inputs[1];
    const bool conv = region_.Is(id, "", "Conv"), transposed = node(id).Int("transB", 0) != 0;
    if (!conv && region_.DimsOf(b).size() != 2) return Dequantized(b, -1);
    return Dequantized(b, AxisOfColumns(region_, b, conv, transposed));
  }

  std::optional<QuantizedChain> OfDequantized(NodeId id) const {
    const bool conv = region_.Is(id, "", "Conv");
    const auto a = Dequantized(node(id).inputs[0], -1);
    const auto b = Weights(id);
    if (!a || !b) return std::nullopt;
    QuantizedChain chain{.conv = conv,
                         .a = *a,
                         .b = *b,
                         .output = node(id).outputs[0],
                         .nodes = {id},
                         .attributes = node(id).attributes,
                         .name = node(id).name};
    const ValueId bias = InputOf(id, 2);
    if (bias != kNone) {
      // Conv's bias is a vector, Gemm's broadcasts to the product.
      if (!IsFloat(bias) || (!conv && !IsOfColumns(bias, chain.output, false))) return std::nullopt;
      chain.offset = bias;
    } else {
      TakeBias(&chain);
    }
    TakeBounds(&chain);
    TakeQuantize(&chain);
    return chain;
  }

  // ---- What follows a product ----

  void Take(NodeId id, QuantizedChain* chain) const {
    chain->nodes.push_back(id);
    chain->output = node(id).outputs[0];
  }

  void TakeBias(QuantizedChain* chain) const {
    const NodeId add = region_.OnlyConsumer(chain->output);
    const ValueId bias = Other(add, "Add", chain->output);
    if (bias == kNone || !IsOfColumns(bias, chain->output, chain->conv)) return;
    chain->offset = bias;
    Take(add, chain);
  }

  bool TakeRelu(QuantizedChain* chain) const {
    const NodeId relu = region_.OnlyConsumer(chain->output);
    if (!region_.Is(relu, "", "Relu")) return false;
    chain->bounds.low = 0;
    Take(relu, chain);
    return true;
  }

  void TakeBounds(QuantizedChain* chain) const {
    if (TakeRelu(chain)) return;
    const NodeId clip = region_.OnlyConsumer(chain->output);
    const auto bounds = ClipBounds(region_, clip);
    if (!bounds || node(clip).inputs[0] != chain->output) return;
    chain->bounds = *bounds;
    Take(clip, chain);
  }

  void TakeQuantize(QuantizedChain* chain) const {
    const NodeId id = region_.OnlyConsumer(chain->output);
    if (!region_.Is(id, "", "QuantizeLinear")) return;
    const ValueId scale = InputOf(id, 1);
    const bool supported = node(id).inputs[0] == chain->output && IsFloat(scale) && IsOne(scale) &&
                           IsByte(region_.DTypeOf(node(id).outputs[0]));
    if (!supported) return;
    chain->y_scale = scale;
    chain->y_zero = InputOf(id, 2);
    Take(id, chain);
  }

  void Rewrite(const QuantizedChain& chain) {
    if (!region_.MayJoin(chain.nodes)) return;
    std::vector<graph::Attribute> attributes = chain.attributes;
    attributes.push_back({"low", chain.bounds.low});
    attributes.push_back({"high", chain.bounds.high});
    const NodeId fused =
        region_.AddNode(chain.conv ? "QuantizedConv" : "QuantizedMatMul",
                        {chain.a.number, chain.a.scale, chain.a.zero, chain.b.number, chain.b.scale,
                         chain.b.zero, chain.y_scale, chain.y_zero, kNone, chain.offset},
                        {chain.output}, std::move(attributes), chain.name);
    for (NodeId id : chain.nodes) region_.Replace(id, fused);
  }

  // ---- Weights alone ----

  bool IsConstant(ValueId value) const { return region_.value(value).constant != kNone; }

  // A weight of 16 bits.
  std::optional<Quantized> Shortened(ValueId value) const {
    const NodeId id = region_.Producer(value);
    if (!region_.Is(id, "", "Cast") || !IsFloat(value)) return std::nullopt;
    const DType dtype = region_.DTypeOf(node(id).inputs[0]);
    if (dtype != DType::kFloat16 && dtype != DType::kBfloat16) return std::nullopt;
    return Quantized{.number = node(id).inputs[0]};
  }

  void JoinWeights(NodeId id) {
    const ValueId weights = node(id).inputs[1], whole = node(id).outputs[0];
    if (region_.Is(id, "", "Conv") || !IsFloat(node(id).inputs[0])) return;
    if (region_.DimsOf(weights).size() != 2) return;
    const auto dequantized = Weights(id), b = dequantized ? dequantized : Shortened(weights);
    if (!b || !IsConstant(b->number)) return;
    if (b->scale != kNone && !IsConstant(b->scale)) return;
    if (b->zero != kNone && !IsConstant(b->zero)) return;
    QuantizedChain chain{.a = {.number = node(id).inputs[0]}, .output = whole, .nodes = {id}};
    ValueId bias = InputOf(id, 2);
    if (bias != kNone && !IsOfColumns(bias, whole, false)) return;
    if (bias == kNone) {
      TakeBias(&chain);
      bias = chain.offset;
    }
    const auto activation = TakeRelu(&chain) ? Activation::kRelu : Activation::kNone;
    if (!region_.MayJoin(chain.nodes)) return;
    const NodeId fused = region_.AddNode(
        "DequantizedGemm", {node(id).inputs[0], b->number, b->scale, b->zero, bias}, {chain.output},
        graph::Attributes({{"transB", node(id).Int("transB", 0)},
                           {"activation", static_cast<int64_t>(activation)}}),
        node(id).name);
    for (NodeId taken : chain.nodes) region_.Replace(taken, fused);
  }

  Region& region_;
};

}  // namespace

void FuseQuantized(Region& region) { QuantizedFuser(region).Run(); }

}  // namespace hr::lowering
