#include "runtime/lowering/fuse_attention.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/lowering/transpose_axes.h"

namespace hr::lowering {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

// A value seen through transpositions: its axis i is axis axes[i] of `memory`.
struct View {
  ValueId memory = kNone;
  Axes axes;

  View Swapped() const {  // of the last two axes
    View out = *this;
    std::swap(out.axes[out.axes.size() - 1], out.axes[out.axes.size() - 2]);
    return out;
  }
  // Whether the features, the last axis, follow each other in memory.
  bool HasRows() const { return axes.back() == static_cast<int64_t>(axes.size()) - 1; }
  friend bool operator==(const View&, const View&) = default;
};

// The nodes of one attention. Those that are kNone are not there.
struct Forward {
  NodeId softmax = kNone, output = kNone;
  ValueId probabilities = kNone, mask = kNone;
  ValueId factor = kNone;  // the constant that scales the scores
  bool divides = false;
  double scale = 1;
  View q, k, v;
  std::vector<NodeId> nodes;  // that vanish
};

struct Backward {
  ValueId dout = kNone, dq = kNone, dk_transposed = kNone, dv = kNone;
  std::vector<NodeId> nodes;
};

class AttentionFuser {
 public:
  AttentionFuser(Region& region, int threads) : region_(region), threads_(threads) {}

  void Run() {
    const size_t count = region_.node_count();
    for (NodeId id = 0; id < count; ++id) {
      const auto forward = Find(id);
      if (!forward || !Fits(*forward)) continue;
      if (region_.OnlyConsumer(forward->probabilities) != kNone) {
        Rewrite(*forward);
      } else if (const auto backward = FindGradient(*forward)) {
        if (RewriteGradient(*forward, *backward)) Rewrite(*forward);
      }
    }
    region_.Sweep();
  }

 private:
  const graph::Node& node(NodeId id) const { return region_.node(id); }
  size_t RankOf(ValueId value) const { return region_.DimsOf(value).size(); }
  bool IsMatMul(NodeId id) const { return region_.Is(id, "", "MatMul"); }

  View ViewOf(ValueId value) const {
    View view{value, AxesInOrder(RankOf(value))};
    for (NodeId id = region_.Producer(value); region_.Is(id, "", "Transpose");
         id = region_.Producer(view.memory)) {
      const Axes permutation = PermutationOf(node(id), view.axes.size());
      for (int64_t& axis : view.axes) axis = permutation[static_cast<size_t>(axis)];
      view.memory = node(id).inputs[0];
    }
    return view;
  }

  // The value in memory where its features follow each other: at worst its own.
  View RowsOf(ValueId value) const {
    View view = ViewOf(value);
    return view.HasRows() ? view : View{value, AxesInOrder(RankOf(value))};
  }

  // Whether `id` runs along the last axis of a value of rank 3 or 4.
  bool IsAlongRows(NodeId id) const {
    const size_t rank = RankOf(node(id).outputs[0]);
    const int64_t axis = node(id).Int("axis", -1);
    return (rank == 3 || rank == 4) && (axis == -1 || axis == static_cast<int64_t>(rank) - 1);
  }

  std::optional<Forward> Find(NodeId id) const {
    if (!IsMatMul(id)) return std::nullopt;
    Forward found{.output = id, .probabilities = node(id).inputs[0]};
    found.softmax = region_.Producer(found.probabilities);
    if (!region_.Is(found.softmax, "", "Softmax") || !IsAlongRows(found.softmax)) return {};
    found.nodes = {id, found.softmax};
    const ValueId scores = node(found.softmax).inputs[0];
    if (FindScores(scores, &found)) return found;
    const NodeId add = region_.Producer(scores);
    if (!region_.Is(add, "", "Add") || region_.OnlyConsumer(scores) == kNone) return {};
    found.nodes.push_back(add);
    for (size_t i : {0, 1}) {
      Forward masked = found;
      masked.mask = node(add).inputs[1 - i];
      if (masked.mask != node(add).inputs[i] && FindScores(node(add).inputs[i], &masked)) {
        return masked;
      }
    }
    return std::nullopt;
  }

  // Fills in the product that makes the scores, and their factor.
  bool FindScores(ValueId scores, Forward* found) const {
    if (region_.OnlyConsumer(scores) == kNone) return false;
    NodeId product = region_.Producer(scores);
    const NodeId scaling = product;
    if (const auto scaled = Scaled(scaling, found)) {
      if (region_.OnlyConsumer(*scaled) == kNone) return false;
      product = region_.Producer(*scaled);
    }
    if (!IsMatMul(product)) return false;
    if (product != scaling) found->nodes.push_back(scaling);
    found->nodes.push_back(product);
    found->q = RowsOf(node(product).inputs[0]);
    found->k = ViewOf(node(product).inputs[1]).Swapped();
    found->v = RowsOf(node(found->output).inputs[1]);
    const size_t rank = RankOf(scores);
    return found->q.axes.size() == rank && found->k.axes.size() == rank &&
           found->v.axes.size() == rank && found->k.HasRows() &&
           found->v.memory != found->probabilities && IsFloating(region_.DTypeOf(scores)) &&
           DTypeSize(region_.DTypeOf(scores)) >= 4;
  }

  // If the node multiplies or divides by a constant number: what it scales.
  std::optional<ValueId> Scaled(NodeId id, Forward* found) const {
    const bool divides = region_.Is(id, "", "Div");
    if (!divides && !region_.Is(id, "", "Mul")) return std::nullopt;
    for (size_t i : {1, 0}) {
      const auto factor = region_.ScalarOf(node(id).inputs[i]);
      if (!factor || (divides && i == 0)) continue;
      found->factor = node(id).inputs[i];
      found->divides = divides;
      found->scale = divides ? 1 / *factor : *factor;
      return node(id).inputs[1 - i];
    }
    return std::nullopt;
  }

  // What depends on sizes: one batch for all, a mask that broadcasts, the value of the factor.
  bool Fits(const Forward& found) const {
    struct Operands {
      View q, k, v;
      ValueId scores, mask, factor;
      double scale;
      bool divides;
    };
    const Operands o{found.q,    found.k,      found.v,     node(found.softmax).inputs[0],
                     found.mask, found.factor, found.scale, found.divides};
    return region_.Decide([o](const Region& r) {
      const auto dims = [&](const View& view) {
        Dims out;
        for (int64_t axis : view.axes) {
          out.push_back(r.DimsOf(view.memory)[static_cast<size_t>(axis)]);
        }
        return out;
      };
      Dims q = dims(o.q), k = dims(o.k), v = dims(o.v);
      const size_t rank = q.size();
      const Dims scores = r.DimsOf(o.scores);
      bool fits = q.back() == k.back() && k[rank - 2] == v[rank - 2] &&
                  scores[rank - 2] == q[rank - 2] && scores[rank - 1] == k[rank - 2];
      for (size_t i = 0; i + 2 < rank; ++i) {
        fits = fits && q[i] == k[i] && q[i] == v[i] && q[i] == scores[i];
      }
      if (o.factor != kNone) {
        const auto factor = r.ScalarOf(o.factor);
        fits = fits && factor && (o.divides ? 1 / *factor : *factor) == o.scale &&
               r.DimsOf(o.factor).size() <= rank;
      }
      return fits && (o.mask == kNone || r.DimsOf(o.mask).size() <= rank);
    });
  }

  // Whether the node multiplies the one by the other, as they are seen through transpositions.
  bool IsProduct(NodeId id, const View& a, const View& b) const {
    return IsMatMul(id) && ViewOf(node(id).inputs[0]) == a && ViewOf(node(id).inputs[1]) == b;
  }

  // The nodes that take the value, past transpositions of it.
  std::vector<NodeId> UsersOf(ValueId value, std::vector<NodeId>* transposes) const {
    std::vector<NodeId> users;
    if (region_.IsFetched(value)) return {kNone};
    for (NodeId id : region_.Consumers(value)) {
      if (!region_.Is(id, "", "Transpose")) {
        users.push_back(id);
        continue;
      }
      transposes->push_back(id);
      for (NodeId user : UsersOf(node(id).outputs[0], transposes)) users.push_back(user);
    }
    return users;
  }

  std::optional<Backward> FindGradient(const Forward& forward) const {
    Backward found;
    NodeId softmax_grad = kNone, value_product = kNone;
    for (NodeId id : UsersOf(forward.probabilities, &found.nodes)) {
      if (id == forward.output) continue;
      NodeId& place = region_.Is(id, "headrace.grad", "SoftmaxGrad") ? softmax_grad : value_product;
      if (place != kNone || id == kNone) return std::nullopt;
      place = id;
    }
    if (softmax_grad == kNone || !IsMatMul(value_product)) return std::nullopt;
    if (node(softmax_grad).inputs[1] != forward.probabilities || !IsAlongRows(softmax_grad)) {
      return std::nullopt;
    }
    found.dout = node(value_product).inputs[1];
    found.dv = node(value_product).outputs[0];
    const View dout = ViewOf(found.dout);
    const ValueId probability_grad = node(softmax_grad).inputs[0];
    const NodeId probability_product = region_.Producer(probability_grad);
    if (!IsProduct(value_product, ViewOf(forward.probabilities).Swapped(), dout) ||
        !IsProduct(probability_product, dout, ViewOf(node(forward.output).inputs[1]).Swapped()) ||
        region_.OnlyConsumer(probability_grad) == kNone) {
      return std::nullopt;
    }
    found.nodes.insert(found.nodes.end(), {softmax_grad, value_product, probability_product});
    return FindScoreGradients(forward, node(softmax_grad).outputs[0], found);
  }

  std::optional<Backward> FindScoreGradients(const Forward& forward, ValueId dscores,
                                             Backward found) const {
    if (forward.factor != kNone) {
      const NodeId scaling = region_.OnlyConsumer(dscores);
      Forward same;
      const auto scaled = scaling == kNone ? std::nullopt : Scaled(scaling, &same);
      if (scaled != dscores || same.scale != forward.scale) return std::nullopt;
      found.nodes.push_back(scaling);
      dscores = node(scaling).outputs[0];
    }
    const View scores = ViewOf(dscores);
    NodeId query_product = kNone, key_product = kNone;
    const std::vector<NodeId> users = UsersOf(dscores, &found.nodes);
    if (users.size() != 2) return std::nullopt;
    for (NodeId id : users) {
      if (!IsMatMul(id)) return std::nullopt;
      (ViewOf(node(id).inputs[0]) == scores ? query_product : key_product) = id;
      found.nodes.push_back(id);
    }
    const View q = ViewOf(QueryOf(forward));
    if (query_product == kNone || !IsProduct(query_product, scores, forward.k) ||
        key_product == kNone || !IsProduct(key_product, q.Swapped(), scores)) {
      return std::nullopt;
    }
    found.dq = node(query_product).outputs[0];
    found.dk_transposed = node(key_product).outputs[0];
    return found;
  }

  ValueId QueryOf(const Forward& forward) const { return node(forward.nodes.back()).inputs[0]; }

  // A result in the memory of a Transpose of it, if that is all that takes it and keeps rows.
  View Target(ValueId value, bool swapped, std::vector<NodeId>* nodes) const {
    View own{value, AxesInOrder(RankOf(value))};
    const NodeId id = region_.OnlyConsumer(value);
    if (!region_.Is(id, "", "Transpose")) return swapped ? own.Swapped() : own;
    const Axes permutation = PermutationOf(node(id), own.axes.size());
    View view{node(id).outputs[0], Axes(permutation.size())};
    for (size_t i = 0; i < permutation.size(); ++i) {
      view.axes[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
    }
    if (swapped) view = view.Swapped();
    if (!view.HasRows()) return swapped ? own.Swapped() : own;
    nodes->push_back(id);
    return view;
  }

  static std::vector<ValueId> InputsOf(const Forward& forward) {
    std::vector<ValueId> inputs = {forward.q.memory, forward.k.memory, forward.v.memory};
    if (forward.mask != kNone) inputs.push_back(forward.mask);
    return inputs;
  }
  static std::vector<graph::Attribute> AttributesOf(const Forward& forward, const View& out) {
    return {{"scale", forward.scale},
            {"q_axes", forward.q.axes},
            {"k_axes", forward.k.axes},
            {"v_axes", forward.v.axes},
            {"out_axes", out.axes}};
  }

  void Replace(std::vector<NodeId> nodes, NodeId by) {
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    for (NodeId id : nodes) region_.Replace(id, by);
  }

  void Rewrite(const Forward& forward) {
    std::vector<NodeId> nodes = forward.nodes;
    const View out = Target(node(forward.output).outputs[0], false, &nodes);
    const NodeId fused = region_.AddNode("Attention", InputsOf(forward), {out.memory},
                                         AttributesOf(forward, out), node(forward.output).name);
    Replace(std::move(nodes), fused);
  }

  bool RewriteGradient(const Forward& forward, const Backward& backward) {
    std::vector<NodeId> nodes = backward.nodes;
    const View dout = RowsOf(backward.dout);
    const View dq = Target(backward.dq, false, &nodes), dv = Target(backward.dv, false, &nodes);
    const View dk = Target(backward.dk_transposed, true, &nodes);
    const bool enough = region_.Decide([q = forward.q, threads = threads_](const Region& r) {
      int64_t heads = 1;
      for (size_t i = 0; i + 2 < q.axes.size(); ++i) {
        heads *= r.DimsOf(q.memory)[static_cast<size_t>(q.axes[i])];
      }
      return heads >= threads;
    });
    // What the gradient of v is made of must not need it: they are made together.
    if (!dk.HasRows() || !enough || Needs(forward.v.memory, backward.dv)) return false;
    std::vector<ValueId> inputs = InputsOf(forward);
    inputs.insert(inputs.begin(), dout.memory);
    std::vector<graph::Attribute> attributes = AttributesOf(forward, dout);
    attributes.push_back({"dq_axes", dq.axes});
    attributes.push_back({"dk_axes", dk.axes});
    attributes.push_back({"dv_axes", dv.axes});
    const NodeId fused =
        region_.AddNode("AttentionGrad", std::move(inputs), {dq.memory, dk.memory, dv.memory},
                        std::move(attributes), Cat(node(forward.output).name, "/grad"));
    Replace(std::move(nodes), fused);
    return true;
  }

  bool Needs(ValueId value, ValueId what) const {
    std::vector<bool> seen(region_.graph().values.size(), false);
    std::vector<ValueId> stack = {value};
    while (!stack.empty()) {
      const ValueId next = stack.back();
      stack.pop_back();
      if (next == what) return true;
      if (next == kNone || seen[next]) continue;
      seen[next] = true;
      const NodeId producer = region_.Producer(next);
      if (producer == kNone) continue;
      stack.insert(stack.end(), node(producer).inputs.begin(), node(producer).inputs.end());
    }
    return false;
  }

  Region& region_;
  const int threads_;
};

}  // namespace

void FuseAttention(Region& region, int threads) { AttentionFuser(region, threads).Run(); }

}  // namespace hr::lowering
