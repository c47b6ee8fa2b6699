#include "runtime/lowering/turn_products.h"

#include <algorithm>
#include <utility>

#include "runtime/lowering/transpose_axes.h"

namespace hr::lowering {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

bool IsTranspose(const Region& region, NodeId id) { return region.Is(id, "", "Transpose"); }

// A value seen through Transpose nodes: its axis i is axis axes[i] of `memory`.
struct View {
  ValueId memory = kNone;
  Axes axes;

  explicit View(const Region& region, ValueId value)
      : memory(value), axes(AxesInOrder(region.DimsOf(value).size())) {}

  // Whether products can read or write it: each matrix has rows or columns without gaps.
  bool HasMatrices() const {
    const size_t rank = axes.size();
    const auto last = static_cast<int64_t>(rank) - 1;
    return axes[rank - 1] == last || axes[rank - 2] == last;
  }
  bool IsSwapped() const { return axes.back() != static_cast<int64_t>(axes.size()) - 1; }
};

// An operand, as far back as products can read it. What has to wait for other nodes stays.
View OperandOf(const Region& region, ValueId value) {
  View view(region, value), best = view;
  for (NodeId id = region.Producer(value); IsTranspose(region, id);
       id = region.Producer(view.memory)) {
    const graph::Node& node = region.node(id);
    if (!node.controls.empty()) break;
    const Axes permutation = PermutationOf(node, view.axes.size());
    for (int64_t& axis : view.axes) axis = permutation[static_cast<size_t>(axis)];
    view.memory = node.inputs[0];
    if (view.HasMatrices()) best = view;
  }
  return best;
}

// The result in the memory of the Transpose nodes that are all that takes it; these are appended to
// `nodes`.
View ResultOf(const Region& region, ValueId value, std::vector<NodeId>* nodes) {
  View view(region, value), best = view;
  std::vector<NodeId> passed;
  for (NodeId id = region.OnlyConsumer(value); IsTranspose(region, id);
       id = region.OnlyConsumer(view.memory)) {
    const graph::Node& node = region.node(id);
    const Axes permutation = PermutationOf(node, view.axes.size());
    for (int64_t& axis : view.axes) {
      axis = std::find(permutation.begin(), permutation.end(), axis) - permutation.begin();
    }
    view.memory = node.outputs[0];
    passed.push_back(id);
    if (!view.HasMatrices()) continue;
    best = view;
    *nodes = passed;
  }
  return best;
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
  const View view = OperandOf(region, *operand);
  if (view.memory == *operand) return false;
  *operand = view.memory;
  *transposed ^= view.IsSwapped();
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
    const View result = ResultOf(region, y, &transposes);
    if (result.IsSwapped()) {
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
  const View a = OperandOf(region, node.inputs[0]), b = OperandOf(region, node.inputs[1]);
  std::vector<NodeId> transposes;
  const View y = ResultOf(region, node.outputs[0], &transposes);
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
