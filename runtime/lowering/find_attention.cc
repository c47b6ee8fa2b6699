#include "runtime/lowering/find_attention.h"

#include <utility>

namespace hr::lowering {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

bool Anything(const TransposedView&) { return true; }

class Finder {
 public:
  explicit Finder(const Region& region) : region_(region) {}

 protected:
  const graph::Node& node(NodeId id) const { return region_.node(id); }
  size_t RankOf(ValueId value) const { return region_.DimsOf(value).size(); }
  bool IsMatMul(NodeId id) const { return region_.Is(id, "", "MatMul"); }
  bool Waits(NodeId id) const { return !node(id).controls.empty(); }
  TransposedView ViewOf(ValueId value) const { return SourceOf(region_, value, Anything); }

  // Whether `id` runs along the last axis of a value of rank 3 to 5.
  bool IsAlongRows(NodeId id) const {
    const size_t rank = RankOf(node(id).outputs[0]);
    const int64_t axis = node(id).Int("axis", -1);
    return rank >= 3 && rank <= 5 && (axis == -1 || axis == static_cast<int64_t>(rank) - 1);
  }

  // If the node multiplies or divides by a constant number: what it scales.
  std::optional<ValueId> Scaled(NodeId id, FoundFactor* factor) const {
    const bool divides = region_.Is(id, "", "Div");
    if (!divides && !region_.Is(id, "", "Mul")) return std::nullopt;
    const ValueId result = node(id).outputs[0];
    for (size_t i : {1, 0}) {
      const ValueId constant = node(id).inputs[i], other = node(id).inputs[1 - i];
      const auto number = region_.ScalarOf(constant);
      if (!number || (divides && i == 0) || RankOf(other) != RankOf(result)) continue;
      *factor = {constant, divides, divides ? 1 / *number : *number};
      return other;
    }
    return std::nullopt;
  }

  const Region& region_;
};

class ForwardFinder : Finder {
 public:
  // `narrow`: the type of operands and result, if products are computed in a wider one.
  ForwardFinder(const Region& region, bool fold, std::optional<DType> narrow)
      : Finder(region), fold_(fold), narrow_(narrow) {}

  std::optional<FoundAttention> Find(NodeId output) const {
    if (!IsMatMul(output) || Waits(output)) return std::nullopt;
    FoundAttention found{.output = output, .narrow = narrow_.has_value(), .nodes = {output}};
    if (!FindResult(&found) || !FindSoftmax(&found) || !FindValues(&found) ||
        !FindScores(node(found.softmax).inputs[0], &found)) {
      return std::nullopt;
    }
    return found;
  }

 private:
  bool IsCast(NodeId id, DType from, DType to) const {
    return region_.Is(id, "", "Cast") && !Waits(id) &&
           region_.DTypeOf(node(id).inputs[0]) == from &&
           region_.DTypeOf(node(id).outputs[0]) == to;
  }
  bool IsRounding(NodeId id) const { return narrow_ && IsCast(id, DType::kFloat32, *narrow_); }
  bool IsWidening(NodeId id) const { return narrow_ && IsCast(id, *narrow_, DType::kFloat32); }

  // The value before it was rounded and widened again. Nobody else takes what is passed.
  ValueId Unrounded(ValueId value, FoundAttention* found) const {
    for (NodeId id = region_.Producer(value);
         (IsRounding(id) || IsWidening(id)) && region_.OnlyConsumer(value) != kNone;
         id = region_.Producer(value)) {
      found->nodes.push_back(id);
      value = node(id).inputs[0];
    }
    return value;
  }

  bool FindResult(FoundAttention* found) const {
    found->result = node(found->output).outputs[0];
    if (!narrow_) return true;
    const NodeId rounding = region_.OnlyConsumer(found->result);
    if (!IsRounding(rounding)) return false;
    found->nodes.push_back(rounding);
    found->result = node(rounding).outputs[0];
    return true;
  }

  bool FindSoftmax(FoundAttention* found) const {
    ValueId value = Unrounded(node(found->output).inputs[0], found);
    if (const auto behind = WithoutNan(value, found)) {
      const NodeId rounding = region_.Producer(*behind);
      value = *behind;
      if (IsRounding(rounding)) {
        found->nodes.push_back(rounding);
        value = Unrounded(node(rounding).inputs[0], found);
        if (region_.OnlyConsumer(value) == kNone) return false;
      }
    }
    found->probabilities = value;
    found->softmax = region_.Producer(value);
    if (!region_.Is(found->softmax, "", "Softmax") || !IsAlongRows(found->softmax) ||
        Waits(found->softmax)) {
      return false;
    }
    found->nodes.push_back(found->softmax);
    return true;
  }

  // If the value is Where(IsNaN(x), number, x): x, which nobody else takes.
  std::optional<ValueId> WithoutNan(ValueId value, FoundAttention* found) const {
    const NodeId where = region_.Producer(value);
    if (!region_.Is(where, "", "Where") || region_.OnlyConsumer(value) == kNone) return {};
    const ValueId test = node(where).inputs[0], x = node(where).inputs[2];
    const NodeId is_nan = region_.Producer(test);
    if (!region_.Is(is_nan, "", "IsNaN") || node(is_nan).inputs[0] != x ||
        !region_.ScalarOf(node(where).inputs[1]) || region_.OnlyConsumer(test) == kNone ||
        region_.Consumers(x).size() != 2 || region_.IsFetched(x) || Waits(where) || Waits(is_nan) ||
        RankOf(x) != RankOf(value)) {
      return std::nullopt;
    }
    found->nan_number = node(where).inputs[1];
    found->nodes.insert(found->nodes.end(), {where, is_nan});
    return x;
  }

  bool FindValues(FoundAttention* found) const {
    const ValueId values = node(found->output).inputs[1];
    const DType dtype = region_.DTypeOf(values);
    if (!IsFloating(dtype) || DTypeSize(dtype) < 4) return false;
    const auto v = OperandOf(values, &TransposedView::HasRows, nullptr);
    if (!v || v->axes.size() != RankOf(found->probabilities)) return false;
    found->v = *v;
    return v->memory != found->probabilities;
  }

  // Fills in what makes the scores: masks, factors and the product.
  bool FindScores(ValueId scores, FoundAttention* found) const {
    if (region_.OnlyConsumer(scores) == kNone) return false;
    scores = Unrounded(scores, found);
    const NodeId id = region_.Producer(scores);
    if (id == kNone || region_.OnlyConsumer(scores) == kNone) return false;
    if (FindProduct(scores, found)) return true;
    if (Waits(id)) return false;
    for (size_t i = 0; i < node(id).inputs.size(); ++i) {
      const auto mask = MaskAround(id, i);
      if (!mask) continue;
      FoundAttention masked = *found;
      masked.masks.insert(masked.masks.begin(), *mask);
      masked.nodes.push_back(id);
      if (!FindScores(node(id).inputs[i], &masked)) continue;
      *found = std::move(masked);
      return true;
    }
    return false;
  }

  // What the node does to its input `i`, if this is scores and the node a mask.
  std::optional<FoundMask> MaskAround(NodeId id, size_t i) const {
    const auto& inputs = node(id).inputs;
    if (RankOf(inputs[i]) != RankOf(node(id).outputs[0])) return std::nullopt;
    if (region_.Is(id, "", "Add") && inputs[0] != inputs[1]) return FoundMask{inputs[1 - i]};
    if (!region_.Is(id, "", "Where") || i == 0) return std::nullopt;
    const ValueId fill = inputs[3 - i];
    const auto number = region_.ScalarOf(fill);
    if (!number) return std::nullopt;
    return FoundMask{inputs[0], i == 2 ? ScoreMask::kFillTrue : ScoreMask::kFillFalse, fill,
                     *number};
  }

  bool FindProduct(ValueId scores, FoundAttention* found) const {
    const NodeId last = region_.Producer(scores);
    FoundAttention with = *found;
    NodeId product = last;
    FoundFactor factor;
    if (const auto scaled = Scaled(last, &factor)) {
      if (region_.OnlyConsumer(*scaled) == kNone || Waits(last)) return false;
      with.factors.push_back(factor);
      with.nodes.push_back(last);
      product = region_.Producer(Unrounded(*scaled, &with));
    }
    if (!IsMatMul(product) || region_.OnlyConsumer(node(product).outputs[0]) == kNone) return false;
    with.product = product;
    with.nodes.push_back(product);
    const auto& inputs = node(product).inputs;
    const auto q = OperandOf(inputs[0], &TransposedView::HasRows, &with.factors);
    const auto k = OperandOf(inputs[1], &TransposedView::HasMatrices, &with.factors);
    const size_t rank = RankOf(scores);
    if (!q || !k || q->axes.size() != rank || k->axes.size() != rank) return false;
    with.q = *q;
    with.k = k->Swapped();
    *found = std::move(with);
    return true;
  }

  // The operand as far back as it fits, behind transpositions and factors; null: behind no factors.
  std::optional<TransposedView> OperandOf(ValueId value, const ViewTest& fits,
                                          std::vector<FoundFactor>* factors) const {
    TransposedView view = OwnView(region_, value);
    std::optional<TransposedView> best;
    std::vector<FoundFactor> passed;
    do {
      const bool typed = !narrow_ || region_.DTypeOf(view.memory) == *narrow_;
      if (!typed || view.axes.size() < 2 || !fits(view)) continue;
      best = view;
      if (factors == nullptr) continue;
      factors->insert(factors->end(), passed.begin(), passed.end());
      passed.clear();
    } while (PassTranspose(region_, &view) || PassWidening(&view) ||
             (factors != nullptr && PassFactor(&view, &passed)));
    return best;
  }

  bool PassWidening(TransposedView* view) const {
    const NodeId id = region_.Producer(view->memory);
    if (!IsWidening(id)) return false;
    view->memory = node(id).inputs[0];
    return true;
  }

  bool PassFactor(TransposedView* view, std::vector<FoundFactor>* passed) const {
    const NodeId id = region_.Producer(view->memory);
    if (!fold_ || id == kNone || Waits(id)) return false;
    FoundFactor factor;
    const auto scaled = Scaled(id, &factor);
    if (!scaled) return false;
    passed->push_back(factor);
    view->memory = *scaled;
    return true;
  }

  const bool fold_;
  const std::optional<DType> narrow_;
};

class BackwardFinder : Finder {
 public:
  BackwardFinder(const Region& region, const FoundAttention& forward)
      : Finder(region), forward_(forward) {}

  std::optional<FoundAttentionGrad> Find() const {
    if (forward_.nan_number != kNone) return std::nullopt;
    for (const FoundMask& mask : forward_.masks) {
      if (mask.kind != ScoreMask::kAdd) return std::nullopt;
    }
    FoundAttentionGrad found;
    NodeId softmax_grad = kNone, value_product = kNone;
    for (NodeId id : UsersOf(forward_.probabilities, &found.nodes)) {
      if (id == forward_.output) continue;
      NodeId& place = region_.Is(id, "headrace.grad", "SoftmaxGrad") ? softmax_grad : value_product;
      if (place != kNone || id == kNone) return std::nullopt;
      place = id;
    }
    if (softmax_grad == kNone || !IsMatMul(value_product)) return std::nullopt;
    if (node(softmax_grad).inputs[1] != forward_.probabilities || !IsAlongRows(softmax_grad)) {
      return std::nullopt;
    }
    found.dout = node(value_product).inputs[1];
    found.dv = node(value_product).outputs[0];
    const TransposedView dout = ViewOf(found.dout);
    const ValueId probability_grad = node(softmax_grad).inputs[0];
    const NodeId probability_product = region_.Producer(probability_grad);
    if (!IsProduct(value_product, ViewOf(forward_.probabilities).Swapped(), dout) ||
        !IsProduct(probability_product, dout, ViewOf(node(forward_.output).inputs[1]).Swapped()) ||
        region_.OnlyConsumer(probability_grad) == kNone) {
      return std::nullopt;
    }
    found.nodes.insert(found.nodes.end(), {softmax_grad, value_product, probability_product});
    return FindScoreGradients(node(softmax_grad).outputs[0], std::move(found));
  }

 private:
  // Whether the node multiplies the one by the other, as they are seen through transpositions.
  bool IsProduct(NodeId id, const TransposedView& a, const TransposedView& b) const {
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

  std::optional<FoundAttentionGrad> FindScoreGradients(ValueId dscores,
                                                       FoundAttentionGrad found) const {
    for (const FoundFactor& factor : forward_.factors) {
      const NodeId scaling = region_.OnlyConsumer(dscores);
      FoundFactor same;
      const auto scaled = scaling == kNone ? std::nullopt : Scaled(scaling, &same);
      if (scaled != dscores || same.number != factor.number) return std::nullopt;
      found.nodes.push_back(scaling);
      dscores = node(scaling).outputs[0];
    }
    const TransposedView scores = ViewOf(dscores);
    NodeId query_product = kNone, key_product = kNone;
    const std::vector<NodeId> users = UsersOf(dscores, &found.nodes);
    if (users.size() != 2) return std::nullopt;
    for (NodeId id : users) {
      if (!IsMatMul(id)) return std::nullopt;
      (ViewOf(node(id).inputs[0]) == scores ? query_product : key_product) = id;
      found.nodes.push_back(id);
    }
    const auto& operands = node(forward_.product).inputs;
    if (query_product == kNone ||
        !IsProduct(query_product, scores, ViewOf(operands[1]).Swapped()) || key_product == kNone ||
        !IsProduct(key_product, ViewOf(operands[0]).Swapped(), scores)) {
      return std::nullopt;
    }
    for (NodeId id : found.nodes) {
      if (Waits(id)) return std::nullopt;
    }
    found.dq = node(query_product).outputs[0];
    found.dk_transposed = node(key_product).outputs[0];
    return found;
  }

  const FoundAttention& forward_;
};

}  // namespace

double FoundAttention::scale() const {
  double product = 1;
  for (const FoundFactor& factor : factors) product *= factor.number;
  return product;
}

std::optional<FoundAttention> FindAttention(const Region& region, NodeId output, bool fold) {
  if (!region.Is(output, "", "MatMul")) return std::nullopt;
  if (auto found = ForwardFinder(region, fold, std::nullopt).Find(output)) return found;
  const NodeId cast = region.Producer(region.node(output).inputs[1]);
  if (!region.Is(cast, "", "Cast")) return std::nullopt;
  const DType narrow = region.DTypeOf(region.node(cast).inputs[0]);
  if (narrow != DType::kFloat16 && narrow != DType::kBfloat16) return std::nullopt;
  return ForwardFinder(region, fold, narrow).Find(output);
}

std::optional<FoundAttentionGrad> FindAttentionGrad(const Region& region,
                                                    const FoundAttention& forward) {
  return BackwardFinder(region, forward).Find();
}

}  // namespace hr::lowering
