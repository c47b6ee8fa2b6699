#include "backends/cpu/lowering/bfloat16_products.h"

#include "backends/cpu/kernels/bfloat16_gemm.h"
#include "runtime/lowering/fuse_products.h"

namespace hr::cpu {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;
using lowering::kLowered;
using lowering::Region;

bool IsProduct(const Region& region, NodeId id) {
  return region.Is(id, "", "MatMul") || region.Is(id, "", "Gemm") ||
         region.Is(id, kLowered, "Gemm");
}

// The value of bfloat16 that was widened to `value`; kNone if there is none.
ValueId Narrow(const Region& region, ValueId value) {
  const NodeId cast = region.Producer(value);
  if (!region.Is(cast, "", "Cast") || region.DTypeOf(value) != DType::kFloat32) return kNone;
  const ValueId from = region.node(cast).inputs[0];
  return region.DTypeOf(from) == DType::kBfloat16 ? from : kNone;
}

struct Operands {
  ValueId a, b, c;
};

Operands NarrowOperands(const Region& region, NodeId id) {
  const auto& inputs = region.node(id).inputs;
  if (IsProduct(region, id)) {
    return {Narrow(region, inputs[0]), Narrow(region, inputs[1]),
            inputs.size() > 2 ? inputs[2] : kNone};
  }
  // (a, weights, scale?, zero?, bias?): runtime/lowering/fuse_quantized.h
  const bool shortened =
      region.Is(id, kLowered, "DequantizedGemm") && region.DTypeOf(inputs[1]) == DType::kBfloat16;
  if (!shortened) return {kNone, kNone, kNone};
  return {Narrow(region, inputs[0]), inputs[1], inputs[4]};
}

bool IsBfloat16(const Region& region, ValueId value) {
  return region.DTypeOf(value) == DType::kBfloat16;
}

// A product with what follows it.
class Chain {
 public:
  Chain(Region& region, NodeId id, const Operands& operands)
      : region_(region), id_(id), operands_(operands), y_(region.node(id).outputs[0]) {
    for (const graph::Attribute& attribute : region.node(id).attributes) {
      if (attribute.name == "activation") continue;
      attributes_.push_back(attribute);
    }
    activation_ = static_cast<Activation>(region.node(id).Int("activation", 0));
  }

  // Takes the rounding in. Behind it, a Relu gives what it gives before.
  void TakeRounding(bool bias_too) {
    const NodeId cast = region_.OnlyConsumer(y_);
    if (!region_.Is(cast, "", "Cast") || !IsBfloat16(region_, region_.node(cast).outputs[0])) {
      return;
    }
    Take(cast);
    if (activation_ != Activation::kNone) return;
    if (bias_too && operands_.c == kNone) TakeBias();
    const NodeId relu = region_.OnlyConsumer(y_);
    if (!region_.Is(relu, "", "Relu")) return;
    activation_ = Activation::kRelu;
    Take(relu);
  }

  void Rewrite(std::string_view name) {
    attributes_.push_back({"activation", static_cast<int64_t>(activation_)});
    const NodeId product = region_.AddNode(name, {operands_.a, operands_.b, operands_.c}, {y_},
                                           std::move(attributes_), region_.node(id_).name);
    region_.Replace(id_, product);
    for (NodeId id : taken_) region_.Replace(id, product);
  }

 private:
  void Take(NodeId id) {
    taken_.push_back(id);
    y_ = region_.node(id).outputs[0];
  }

  void TakeBias() {
    const NodeId add = region_.OnlyConsumer(y_);
    if (!region_.Is(add, "", "Add")) return;
    const auto& inputs = region_.node(add).inputs;
    const ValueId bias = inputs[0] == y_ ? inputs[1] : inputs[0];
    // A vector on the right makes a column of what would be a row.
    if (bias == y_ || region_.DimsOf(operands_.b).size() < 2) return;
    if (!lowering::IsRowOf(region_, bias, y_)) return;
    operands_.c = bias;
    Take(add);
  }

  Region& region_;
  const NodeId id_;
  Operands operands_;
  ValueId y_;
  Activation activation_;
  std::vector<graph::Attribute> attributes_;
  std::vector<NodeId> taken_;
};

// Columns cost more than is won by few filters (of depthwise convolutions) or few taps.
bool IsWorthColumns(Region& region, ValueId w, int64_t groups) {
  constexpr int64_t kFewestFilters = 16, kFewestTaps = 32;
  return region.Decide([=](const Region& r) {
    const Dims dims = r.DimsOf(w);
    return dims[0] / groups >= kFewestFilters &&
           ElementCount(std::span(dims).subspan(1)) >= kFewestTaps;
  });
}

bool HasBfloat16(const Region& region) {
  for (NodeId id = 0; id < region.node_count(); ++id) {
    if (region.IsDead(id)) continue;
    for (const ValueId input : region.node(id).inputs) {
      if (input != kNone && IsBfloat16(region, input)) return true;
    }
  }
  return false;
}

// Calls visit for each node, if there is bfloat16 and the processor has products of it. The region
// comes first, since to ask the processor costs 15 µs or more on a virtual machine.
template <typename Visit>
void ForNodes(Region& region, const Visit& visit) {
  if (!HasBfloat16(region) || KernelsForBfloat16() == nullptr) return;
  const size_t count = region.node_count();
  for (NodeId id = 0; id < count; ++id) {
    if (!region.IsDead(id)) visit(id);
  }
  region.Sweep();
}

}  // namespace

void UseBfloat16Convolutions(Region& region) {
  ForNodes(region, [&](NodeId id) {
    if (!region.Is(id, "", "Conv")) return;
    const graph::Node& conv = region.node(id);
    const Operands operands{Narrow(region, conv.inputs[0]), Narrow(region, conv.inputs[1]),
                            conv.inputs.size() > 2 ? conv.inputs[2] : kNone};
    if (operands.a == kNone || operands.b == kNone) return;
    if (!IsWorthColumns(region, operands.b, conv.Int("group", 1))) return;
    Chain chain(region, id, operands);
    chain.TakeRounding(false);
    chain.Rewrite("Bfloat16Conv");
  });
}

void UseBfloat16Products(Region& region) {
  ForNodes(region, [&](NodeId id) {
    const Operands operands = NarrowOperands(region, id);
    if (operands.a == kNone || operands.b == kNone) return;
    Chain chain(region, id, operands);
    chain.TakeRounding(true);
    chain.Rewrite("Bfloat16Gemm");
  });
}

}  // namespace hr::cpu
