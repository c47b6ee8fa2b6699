#include "runtime/lowering/fuse_products.h"

#include "runtime/lowering/activation.h"
#include "runtime/lowering/find_gelu.h"
#include "runtime/lowering/turn_products.h"

namespace hr::lowering {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

Activation ActivationOf(const Region& region, NodeId node) {
  return region.Is(node, "", "Relu") ? Activation::kRelu : Activation::kNone;
}

bool IsGemm(const Region& region, NodeId id) {
  return region.Is(id, "", "Gemm") || region.Is(id, kLowered, "Gemm");
}

// Whether the node multiplies rows by a matrix and adds nothing.
bool IsPlainProduct(const Region& region, NodeId id) {
  const auto& inputs = region.node(id).inputs;
  if (IsGemm(region, id)) return inputs.size() < 3 || inputs[2] == kNone;
  return region.Is(id, "", "MatMul") && region.DimsOf(inputs[0]).size() >= 2 &&
         region.DimsOf(inputs[1]).size() == 2;
}

// Turns a product and the Add of a row that follows into a Gemm.
NodeId JoinBias(Region& region, NodeId id) {
  const graph::Node product = region.node(id);
  NodeId add = region.OnlyConsumer(product.outputs[0]);
  if (!region.Is(add, "", "Add") || !region.MayJoin({id, add})) return kNone;
  const graph::Node sum = region.node(add);
  ValueId bias = sum.inputs[0] == product.outputs[0] ? sum.inputs[1] : sum.inputs[0];
  if (bias == product.outputs[0]) return kNone;  // the product is added to itself
  if (!IsRowOf(region, bias, product.outputs[0])) return kNone;
  std::vector<graph::Attribute> attributes = product.attributes;
  std::erase_if(attributes, [](const graph::Attribute& a) { return a.name == "beta"; });
  NodeId gemm = region.AddNode("Gemm", {product.inputs[0], product.inputs[1], bias}, sum.outputs,
                               std::move(attributes), product.name);
  region.Replace(id, gemm);
  region.Replace(add, gemm);
  return gemm;
}

// The product, which has none, makes `y` by an activation, for which the nodes stood.
void Activate(Region& region, NodeId id, std::vector<NodeId> nodes, ValueId y,
              Activation activation) {
  nodes.push_back(id);
  if (!region.MayJoin(nodes)) return;
  const graph::Node gemm = region.node(id);
  std::vector<graph::Attribute> attributes = gemm.attributes;
  attributes.push_back({"activation", static_cast<int64_t>(activation)});
  const NodeId fused = region.AddNode("Gemm", gemm.inputs, {y}, std::move(attributes), gemm.name);
  for (NodeId node : nodes) region.Replace(node, fused);
}

void JoinActivation(Region& region, NodeId id) {
  const NodeId next = region.OnlyConsumer(region.node(id).outputs[0]);
  if (next == kNone) return;
  const Activation activation = ActivationOf(region, next);
  if (activation == Activation::kNone) return;
  Activate(region, id, {next}, region.node(next).outputs[0], activation);
}

void JoinGelu(Region& region, NodeId id) {
  const ValueId x = region.node(id).outputs[0];
  const std::optional<FoundGelu> gelu = FindGelu(region, x);
  if (!gelu) return;
  const bool same =
      region.Decide([x, y = gelu->y](const Region& r) { return r.DimsOf(x) == r.DimsOf(y); });
  if (same) Activate(region, id, gelu->nodes, gelu->y, Activation::kGelu);
}

}  // namespace

bool IsRowOf(Region& region, ValueId value, ValueId whole) {
  return region.Decide([value, whole](const Region& r) {
    const Dims dims = r.DimsOf(value), all = r.DimsOf(whole);
    return ElementCount(dims) == all.back() && !dims.empty() && dims.back() == all.back() &&
           dims.size() <= all.size();
  });
}

void FuseMatrixProducts(Region& region) {
  TurnMatrixProducts(region);
  size_t count = region.node_count();
  for (NodeId id = 0; id < count; ++id) {
    NodeId gemm = IsGemm(region, id) ? id : kNone;
    if (IsPlainProduct(region, id)) {
      const NodeId biased = JoinBias(region, id);
      if (biased != kNone) gemm = biased;
    }
    if (gemm != kNone) JoinActivation(region, gemm);
  }
  region.Sweep();
}

void JoinGelus(Region& region) {
  const size_t count = region.node_count();
  for (NodeId id = 0; id < count; ++id) {
    if (IsGemm(region, id) && region.node(id).Find("activation") == nullptr) JoinGelu(region, id);
  }
  region.Sweep();
}

}  // namespace hr::lowering
