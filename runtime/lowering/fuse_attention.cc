#include "runtime/lowering/fuse_attention.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "runtime/lowering/find_attention.h"

namespace hr::lowering {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

bool SameNumber(const Region& region, ValueId value, double number) {
  const auto now = region.ScalarOf(value);
  return now && std::bit_cast<uint64_t>(*now) == std::bit_cast<uint64_t>(number);
}

Dims DimsOf(const Region& region, const TransposedView& view) {
  Dims out;
  for (int64_t axis : view.axes) {
    out.push_back(region.DimsOf(view.memory)[static_cast<size_t>(axis)]);
  }
  return out;
}

// What of an attention does not change with sizes, for decisions.
struct Operands {
  TransposedView q, k, v;
  ValueId scores;
  std::vector<FoundMask> masks;
  std::vector<FoundFactor> factors;
  ValueId nan_number;
  double nan;
};

// Whether there is the batch of the queries for all, or less for keys and values.
bool HaveOneBatch(const Region& region, const Operands& o) {
  const Dims q = DimsOf(region, o.q), k = DimsOf(region, o.k), v = DimsOf(region, o.v);
  const Dims scores = region.DimsOf(o.scores);
  const size_t rank = q.size();
  bool fits = q.back() == k.back() && k[rank - 2] == v[rank - 2] &&
              scores[rank - 2] == q[rank - 2] && scores[rank - 1] == k[rank - 2];
  for (size_t i = 0; i + 2 < rank; ++i) {
    fits = fits && (k[i] == q[i] || k[i] == 1) && (v[i] == q[i] || v[i] == 1) && scores[i] == q[i];
  }
  return fits;
}

// Whether the constants have the numbers that were found, and masks broadcast.
bool HaveSameNumbers(const Region& region, const Operands& o) {
  const size_t rank = o.q.axes.size();
  bool fits = o.nan_number == kNone || SameNumber(region, o.nan_number, o.nan);
  for (const FoundFactor& factor : o.factors) {
    const auto number = region.ScalarOf(factor.value);
    fits = fits && number && (factor.divides ? 1 / *number : *number) == factor.number;
  }
  for (const FoundMask& mask : o.masks) {
    fits = fits && region.DimsOf(mask.value).size() <= rank;
    if (mask.fill != kNone) fits = fits && SameNumber(region, mask.fill, mask.number);
  }
  return fits;
}

class AttentionFuser {
 public:
  AttentionFuser(Region& region, int threads) : region_(region), threads_(threads) {}

  void Run() {
    const size_t count = region_.node_count();
    for (NodeId id = 0; id < count; ++id) {
      if (!region_.Is(id, "", "MatMul")) continue;
      if (const auto found = FindAttention(region_, id, true); found && !IsTrained(*found)) {
        if (Fits(*found)) Rewrite(*found);
      } else if (found) {
        FuseWithGradient(id);
      }
    }
    region_.Sweep();
  }

 private:
  const graph::Node& node(NodeId id) const { return region_.node(id); }

  // Whether others than the last product take the probabilities.
  bool IsTrained(const FoundAttention& found) const {
    return found.nan_number == kNone && region_.OnlyConsumer(found.probabilities) == kNone;
  }

  // The gradient scales queries and keys itself.
  void FuseWithGradient(NodeId id) {
    const auto forward = FindAttention(region_, id, false);
    if (!forward || forward->narrow || !Fits(*forward)) return;
    const auto backward = FindAttentionGrad(region_, *forward);
    if (backward && RewriteGradient(*forward, *backward)) Rewrite(*forward);
  }

  bool Fits(const FoundAttention& found) {
    if (found.masks.size() > kMaxScoreMasks ||
        region_.NeedOneOf(region_.Producers(InputsOf(found)), found.nodes)) {
      return false;
    }
    const Operands o{
        found.q,          found.k,
        found.v,          node(found.softmax).inputs[0],
        found.masks,      found.factors,
        found.nan_number, found.nan_number == kNone ? 0 : *region_.ScalarOf(found.nan_number)};
    return region_.Decide(
        [o](const Region& r) { return HaveOneBatch(r, o) && HaveSameNumbers(r, o); });
  }

  // The inputs of the node, behind those of its gradient.
  static std::vector<ValueId> InputsOf(const FoundAttention& found) {
    std::vector<ValueId> inputs = {found.q.memory, found.k.memory, found.v.memory};
    for (const FoundMask& mask : found.masks) inputs.push_back(mask.value);
    return inputs;
  }

  std::vector<graph::Attribute> AttributesOf(const FoundAttention& found,
                                             const TransposedView& out) const {
    std::vector<graph::Attribute> attributes = {{"scale", found.scale()},
                                                {"q_axes", found.q.axes},
                                                {"k_axes", found.k.axes},
                                                {"v_axes", found.v.axes},
                                                {"out_axes", out.axes}};
    std::vector<int64_t> kinds, numbers;
    for (const FoundMask& mask : found.masks) {
      kinds.push_back(static_cast<int64_t>(mask.kind));
      numbers.push_back(std::bit_cast<int64_t>(mask.number));
    }
    attributes.push_back({"mask_kinds", std::move(kinds)});
    attributes.push_back({"mask_numbers", std::move(numbers)});
    if (found.nan_number != kNone) {
      attributes.push_back({"nan", *region_.ScalarOf(found.nan_number)});
    }
    return attributes;
  }

  void Replace(const std::vector<NodeId>& nodes, NodeId by) {
    for (NodeId id : nodes) {
      if (!region_.IsDead(id)) region_.Replace(id, by);
    }
  }

  TransposedView RowsOf(ValueId value, std::vector<NodeId>* nodes) const {
    return TargetOf(region_, value, &TransposedView::HasRows, nodes);
  }

  void Rewrite(const FoundAttention& found) {
    std::vector<NodeId> nodes = found.nodes;
    const TransposedView out = RowsOf(found.result, &nodes);
    const NodeId fused = region_.AddNode("Attention", InputsOf(found), {out.memory},
                                         AttributesOf(found, out), node(found.output).name);
    Replace(nodes, fused);
  }

  bool RewriteGradient(const FoundAttention& forward, const FoundAttentionGrad& backward) {
    std::vector<NodeId> nodes = backward.nodes;
    const TransposedView dout = SourceOf(region_, backward.dout, &TransposedView::HasRows);
    const TransposedView dq = RowsOf(backward.dq, &nodes), dv = RowsOf(backward.dv, &nodes);
    const TransposedView dk =
        TargetOf(region_, backward.dk_transposed, &TransposedView::HasMatrices, &nodes).Swapped();
    std::vector<ValueId> inputs = InputsOf(forward);
    inputs.insert(inputs.begin(), dout.memory);
    if (region_.NeedOneOf(region_.Producers(inputs), nodes) || !HasHeads(forward.q)) return false;
    std::vector<graph::Attribute> attributes = AttributesOf(forward, dout);
    attributes.push_back({"dq_axes", dq.axes});
    attributes.push_back({"dk_axes", dk.axes});
    attributes.push_back({"dv_axes", dv.axes});
    const NodeId fused =
        region_.AddNode("AttentionGrad", std::move(inputs), {dq.memory, dk.memory, dv.memory},
                        std::move(attributes), Cat(node(forward.output).name, "/grad"));
    Replace(nodes, fused);
    return true;
  }

  // Whether there is one for each thread.
  bool HasHeads(const TransposedView& q) {
    return region_.Decide([q, threads = threads_](const Region& r) {
      const Dims dims = DimsOf(r, q);
      return ElementCount(std::span(dims).first(dims.size() - 2)) >= threads;
    });
  }

  Region& region_;
  const int threads_;
};

}  // namespace

void FuseAttention(Region& region, int threads) { AttentionFuser(region, threads).Run(); }

}  // namespace hr::lowering
