#include "backends/cpu/lowering/bfloat16_products.h"

#include <algorithm>

#include "backends/cpu/kernel_table.h"
#include "backends/cpu/kernels/bfloat16_gemm.h"
#include "backends/cpu/lowering/conv_layouts.h"
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

  // Takes in what follows a convolution, each once: an image that is added, a Relu, the rounding.
  // A Relu gives the same before and behind that.
  void TakeTail() {
    bool added = false, rounded = false;
    while (true) {
      const NodeId next = Next();
      const bool relu = activation_ != Activation::kNone;
      if (!rounded && IsRounding(next)) {
        rounded = true;
      } else if (!relu && region_.Is(next, "", "Relu")) {
        activation_ = Activation::kRelu;
      } else if (!relu && !added && AddsImage(next)) {
        added = true;
      } else {
        return;
      }
      Take(next);
    }
  }

  void TakeRounding() {
    const NodeId cast = Next();
    if (IsRounding(cast)) Take(cast);
  }

  // Takes the rounding in. Behind it, a Relu gives what it gives before.
  void TakeRow() {
    const NodeId cast = Next();
    if (!IsRounding(cast)) return;
    Take(cast);
    if (activation_ != Activation::kNone) return;
    if (operands_.c == kNone) TakeBias();
    const NodeId relu = Next();
    if (!region_.Is(relu, "", "Relu")) return;
    activation_ = Activation::kRelu;
    Take(relu);
  }

  // Has a convolution write images channels-last, if somebody takes them so.
  void ChooseLayout() {
    const size_t rank = region_.DimsOf(y_).size();
    const std::vector<NodeId> users = region_.Consumers(y_);
    const bool wanted =
        residual_ != kNone || std::any_of(users.begin(), users.end(), [&](NodeId id) {
          const graph::Operator& op = region_.module.OperatorOf(region_.node(id));
          const KernelEntry* const entry = FindKernel(op);
          return entry != nullptr &&
                 (entry->any_layout || op.name.find("Conv") != std::string::npos);
        });
    if ((rank == 3 || rank == 4) && wanted)
      attributes_.push_back({std::string(kChannelsLast), int64_t{1}});
  }

  void Rewrite(std::string_view name) {
    attributes_.push_back({"activation", static_cast<int64_t>(activation_)});
    std::vector<ValueId> inputs = {operands_.a, operands_.b, operands_.c};
    if (residual_ != kNone) inputs.push_back(residual_);
    const NodeId product = region_.AddNode(name, std::move(inputs), {y_}, std::move(attributes_),
                                           region_.node(id_).name);
    region_.Replace(id_, product);
    for (NodeId id : taken_) region_.Replace(id, product);
  }

 private:
  bool IsRounding(NodeId id) const {
    return region_.Is(id, "", "Cast") && region_.DTypeOf(y_) == DType::kFloat32 &&
           IsBfloat16(region_, region_.node(id).outputs[0]);
  }

  // Whether the node adds an image of y's size, which is noted.
  bool AddsImage(NodeId id) {
    if (!region_.Is(id, "", "Add")) return false;
    const auto& inputs = region_.node(id).inputs;
    const ValueId other = inputs[0] == y_ ? inputs[1] : inputs[0];
    const size_t rank = region_.DimsOf(y_).size();
    if (other == y_ || (rank != 3 && rank != 4)) return false;
    const bool same =
        region_.Decide([y = y_, other](const Region& r) { return r.DimsOf(y) == r.DimsOf(other); });
    if (same) residual_ = other;
    return same;
  }

  // What takes the result, if it may become one node with what makes it.
  NodeId Next() const {
    const NodeId next = region_.OnlyConsumer(y_);
    std::vector<NodeId> nodes = taken_;
    nodes.insert(nodes.end(), {id_, next});
    return region_.MayJoin(nodes) ? next : kNone;
  }

  void Take(NodeId id) {
    taken_.push_back(id);
    y_ = region_.node(id).outputs[0];
  }

  void TakeBias() {
    const NodeId add = Next();
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
  ValueId y_, residual_ = kNone;
  Activation activation_;
  std::vector<graph::Attribute> attributes_;
  std::vector<NodeId> taken_;
};

// Panels of few filters (of depthwise convolutions), and few taps, leave most of an instruction
// unused. `of_input`: for the gradient of x, where channels are what filters are otherwise.
bool FillsInstructions(Region& region, ValueId w, int64_t groups, bool of_input) {
  constexpr int64_t kFewestFilters = 16, kFewestTaps = 32;
  return region.Decide([=](const Region& r) {
    const Dims dims = r.DimsOf(w);
    const int64_t filters = dims[0] / groups;
    const int64_t kernel = ElementCount(std::span(dims).subspan(2));
    const int64_t made = of_input ? dims[1] : filters, read = of_input ? filters : dims[1];
    return made >= kFewestFilters && read * kernel >= kFewestTaps;
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
    const bool forward = region.Is(id, "", "Conv");
    const bool of_input = region.Is(id, "headrace.grad", "ConvGradInput");
    const bool of_weight = region.Is(id, "headrace.grad", "ConvGradWeight");
    if (!forward && !of_input && !of_weight) return;
    const graph::Node& conv = region.node(id);
    const Operands operands{Narrow(region, conv.inputs[0]), Narrow(region, conv.inputs[1]),
                            forward && conv.inputs.size() > 2 ? conv.inputs[2] : kNone};
    if (operands.a == kNone || operands.b == kNone) return;
    const ValueId w = of_weight ? conv.outputs[0] : operands.b;
    if (!FillsInstructions(region, w, conv.Int("group", 1), of_input)) return;
    Chain chain(region, id, operands);
    forward ? chain.TakeTail() : chain.TakeRounding();
    if (!of_weight) chain.ChooseLayout();
    chain.Rewrite(forward    ? "Bfloat16Conv"
                  : of_input ? "Bfloat16ConvGradInput"
                             : "Bfloat16ConvGradWeight");
  });
}

void UseBfloat16Products(Region& region) {
  ForNodes(region, [&](NodeId id) {
    const Operands operands = NarrowOperands(region, id);
    if (operands.a == kNone || operands.b == kNone) return;
    Chain chain(region, id, operands);
    chain.TakeRow();
    chain.Rewrite("Bfloat16Gemm");
  });
}

}  // namespace hr::cpu
