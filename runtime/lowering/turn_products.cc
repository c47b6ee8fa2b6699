#include "runtime/lowering/turn_products.h"

#include <utility>

#include "runtime/lowering/transpose_axes.h"

namespace hr::lowering {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

// As far back as products can read it.
TransposedView OperandOf(const Region& region, ValueId value) {
  return SourceOf(region, value, &TransposedView::HasMatrices);
}

// As products can write it.
TransposedView ResultOf(const Region& region, ValueId value, std::vector<NodeId>* nodes) {
  return TargetOf(region, value, &TransposedView::HasMatrices, nodes);
}

void Replace(Region& region, NodeId product, const std::vector<NodeId>& transposes, NodeId by) {
  region.Replace(product, by);
  for (NodeId id : transposes) region.Replace(id, by);
}

struct MatrixProduct {
  ValueId a, b, c = kNone;
  bool transpose_a = false, transpose_b = false;
};

// Takes the transposed form of an operand; returns whether there is one.
bool Turn(const Region& region, ValueId* operand, bool* transposed) {
  const TransposedView view = OperandOf(region, *operand);
  if (view.memory == *operand) return false;
  *operand = view.memory;
  *transposed ^= !view.HasRows();
  return true;
}

void TurnMatrixProduct(Region& region, NodeId id) {
  const graph::Node node = region.node(id);
  MatrixProduct p{.a = node.inputs[0],
                  .b = node.inputs[1],
                  .c = node.inputs.size() > 2 ? node.inputs[2] : kNone,
                  .transpose_a = node.Int("transA", 0) != 0,
                  .transpose_b = node.Int("transB", 0) != 0};
  const size_t rank = region.DimsOf(p.a).size();
  if (rank < 2 || region.DimsOf(p.b).size() != 2) return;
  bool turned = Turn(region, &p.b, &p.transpose_b);
  if (rank == 2) turned |= Turn(region, &p.a, &p.transpose_a);
  ValueId y = node.outputs[0];
  std::vector<NodeId> transposes;
  if (rank == 2 && p.c == kNone) {
    const TransposedView result = ResultOf(region, y, &transposes);
    if (!result.HasRows()) {
      std::swap(p.a, p.b);
      std::swap(p.transpose_a, p.transpose_b);
      p.transpose_a = !p.transpose_a;
      p.transpose_b = !p.transpose_b;
    }
    turned |= result.memory != y;
    y = result.memory;
  }
  if (!turned) return;
  std::vector<graph::Attribute> attributes = node.attributes;
  std::erase_if(attributes, [](const graph::Attribute& attribute) {
    return attribute.name == "transA" || attribute.name == "transB";
  });
  attributes.push_back({"transA", int64_t{p.transpose_a}});
  attributes.push_back({"transB", int64_t{p.transpose_b}});
  std::vector<ValueId> inputs = {p.a, p.b};
  if (p.c != kNone) inputs.push_back(p.c);
  Replace(region, id, transposes,
          region.AddNode("Gemm", std::move(inputs), {y}, std::move(attributes), node.name));
}

void TurnBatchedProduct(Region& region, NodeId id) {
  const graph::Node node = region.node(id);
  for (ValueId input : node.inputs) {
    if (region.DimsOf(input).size() < 2) return;
  }
  const TransposedView a = OperandOf(region, node.inputs[0]), b = OperandOf(region, node.inputs[1]);
  std::vector<NodeId> transposes;
  const TransposedView y = ResultOf(region, node.outputs[0], &transposes);
  if (a.memory == node.inputs[0] && b.memory == node.inputs[1] && transposes.empty()) return;
  Replace(region, id, transposes,
          region.AddNode("MatMul", {a.memory, b.memory}, {y.memory},
                         {{"a_axes", a.axes}, {"b_axes", b.axes}, {"y_axes", y.axes}}, node.name));
}

template <typename Visit>
void ForEachNode(Region& region, const Visit& visit) {
  const size_t count = region.node_count();
  for (NodeId id = 0; id < count; ++id) {
    if (!region.IsDead(id)) visit(id);
  }
  region.Sweep();
}

}  // namespace

void TurnMatrixProducts(Region& region) {
  ForEachNode(region, [&](NodeId id) {
    if (region.Is(id, "", "MatMul") || region.Is(id, "", "Gemm")) TurnMatrixProduct(region, id);
  });
}

void TurnBatchedProducts(Region& region) {
  ForEachNode(region, [&](NodeId id) {
    if (region.Is(id, "", "MatMul")) TurnBatchedProduct(region, id);
  });
}

}  // namespace hr::lowering
