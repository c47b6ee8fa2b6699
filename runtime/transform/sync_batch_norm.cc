#include "runtime/transform/sync_batch_norm.h"

#include <algorithm>

namespace hr::transform {
namespace {

bool IsOp(const GraphBuilder& builder, const graph::Node& node, std::string_view domain,
          std::string_view name) {
  const graph::Operator& op = builder.module().OperatorOf(node);
  return op.domain == domain && op.name == name;
}

// Of all ranks' values of a channel; the last three are float64.
struct Statistics {
  ValueId x = kNone, shift = kNone;      // of which
  DType dtype = DType::kFloat32;         // in which is computed, or float64
  ValueId count = kNone;                 // [], values of a channel
  ValueId mean = kNone, spread = kNone;  // [C]; the spread is the variance of the population
};

class Synchronizer {
 public:
  Synchronizer(GraphBuilder& builder, RankNodes& ranks, Formula& f, ValueId weight)
      : builder_(builder), ranks_(ranks), f_(f), weight_(weight) {}

  Status Replace(NodeId id) {
    const graph::Node node = builder_.graph().nodes[id];
    const bool gradient = IsOp(builder_, node, ops::kGrad, kGradient);
    HR_ASSIGN_OR_RETURN(const auto values, gradient ? Gradient(node) : Forward(node));
    HR_RETURN_IF_ERROR(f_.status());
    builder_.Redirect(id, values);
    return {};
  }

  // A Div of the size of x and of that of a mean counts the values of a channel, from which running
  // statistics are corrected: those of all ranks.
  Status ReplaceCount(NodeId id) {
    const graph::Node& node = builder_.graph().nodes[id];
    if (!IsOp(builder_, node, ops::kOnnx, "Div")) return {};
    const ValueId all = SizedBy(node.inputs[0]), channels = SizedBy(node.inputs[1]);
    if (all == kNone || channels == kNone) return {};
    for (const auto& [mean, statistics] : means_) {
      if (mean != channels || statistics.x != all) continue;
      const ValueId count[] = {f_.Cast(statistics.count, DType::kInt64)};
      HR_RETURN_IF_ERROR(f_.status());
      builder_.Redirect(id, count);
      return {};
    }
    return {};
  }

  static constexpr std::string_view kGradient = "BatchNormalizationGrad";

 private:
  // What a Size takes; kNone for a value of another node.
  ValueId SizedBy(ValueId value) const {
    const NodeId producer = builder_.graph().values[value].producer;
    if (producer == kNone) return kNone;
    const graph::Node& node = builder_.graph().nodes[producer];
    return IsOp(builder_, node, ops::kOnnx, "Size") ? node.inputs[0] : kNone;
  }

  // All axes but that of the channels.
  ValueId Axes(ValueId x) {
    std::vector<int64_t> axes = {0};
    for (size_t axis = 2; axis < f_.Rank(x); ++axis) axes.push_back(static_cast<int64_t>(axis));
    return f_.Ints(axes);
  }
  ValueId SumOverBatch(ValueId x) {
    return f_.Emit("ReduceSum", {x, Axes(x)}, {{"keepdims", int64_t{0}}});
  }
  // A [C] that broadcasts against x.
  ValueId Channels(ValueId value, ValueId x) {
    if (!f_.ok()) return kNone;
    return f_.Emit("Unsqueeze", {f_.Cast(value, f_.type(x).dtype), Axes(x)});
  }

  // Values are counted from `shift`, the running mean, which is the same on all ranks.
  Result<Statistics> StatisticsOf(ValueId x, ValueId shift) {
    for (const Statistics& known : statistics_) {
      if (known.x == x && known.shift == shift) return known;
    }
    Statistics of{.x = x, .shift = shift};
    of.dtype = f_.type(x).dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
    const ValueId wide = f_.Cast(x, of.dtype), values = f_.Sub(wide, Channels(shift, wide));
    const ValueId sum = SumOverBatch(values);
    const ValueId own = f_.Div(f_.SizeOf(x, DType::kFloat64), f_.SizeOf(shift, DType::kFloat64));
    HR_RETURN_IF_ERROR(f_.status());
    HR_RETURN_IF_ERROR(of.dtype == DType::kFloat64 ? AddTwice(values, sum, own, &of)
                                                   : AddOnce(values, sum, own, &of));
    HR_RETURN_IF_ERROR(f_.status());
    statistics_.push_back(of);
    return of;
  }

  // In two operations, the second of which takes the mean: nothing is lost if means are large.
  Status AddTwice(ValueId values, ValueId sum, ValueId own, Statistics* of) {
    HR_ASSIGN_OR_RETURN(const auto sums, ranks_.AllReduce({sum, own}, "sum"));
    const ValueId moved = f_.Div(sums[0], sums[1]);
    const ValueId apart = f_.Sub(values, Channels(moved, values));
    const ValueId squares = SumOverBatch(f_.Mul(apart, apart));
    HR_RETURN_IF_ERROR(f_.status());
    HR_ASSIGN_OR_RETURN(const auto total, ranks_.AllReduce({squares}, "sum"));
    of->count = sums[1];
    of->mean = f_.Add(Double(of->shift), moved);
    of->spread = f_.Div(total[0], of->count);
    return {};
  }

  // In one operation, whose float64 holds what float32 needs: each rank's squares around its own
  // mean, moved to the shift (Chan, Golub, LeVeque: "Updating formulae and a pairwise algorithm for
  // computing sample variances", 1979).
  Status AddOnce(ValueId values, ValueId sum, ValueId own, Statistics* of) {
    const ValueId mean = f_.Div(sum, f_.Cast(f_.Max(own, f_.Number(1)), of->dtype));
    const ValueId apart = f_.Sub(values, Channels(mean, values));
    // Sum of squares = that of what is apart from the rounded mean + mean * (2 sum - own * mean).
    const ValueId rest = f_.Sub(f_.Scale(Double(sum), 2), f_.Mul(own, Double(mean)));
    const ValueId squares =
        f_.Add(Double(SumOverBatch(f_.Mul(apart, apart))), f_.Mul(Double(mean), rest));
    HR_RETURN_IF_ERROR(f_.status());
    HR_ASSIGN_OR_RETURN(const auto totals, ranks_.AllReduce({Double(sum), squares, own}, "sum"));
    const ValueId moved = f_.Div(totals[0], totals[2]);
    const ValueId spread = f_.Sub(f_.Div(totals[1], totals[2]), f_.Mul(moved, moved));
    of->count = totals[2];
    of->mean = f_.Add(Double(of->shift), moved);
    of->spread = f_.Max(spread, f_.Number(0));
    return {};
  }
  ValueId Double(ValueId value) { return f_.Cast(value, DType::kFloat64); }

  // 1 / the standard deviation, [C].
  ValueId Inverse(const Statistics& of, const graph::Node& node) {
    const ValueId epsilon = f_.Number(node.Float("epsilon", 1e-5));
    return f_.Div(f_.Number(1), f_.Emit("Sqrt", {f_.Add(of.spread, epsilon)}));
  }
  // x with mean 0 and variance 1.
  ValueId Normalized(const Statistics& of, const graph::Node& node) {
    const ValueId x = f_.Cast(of.x, of.dtype);
    return f_.Mul(f_.Sub(x, Channels(of.mean, x)), Channels(Inverse(of, node), x));
  }

  // (x, scale, bias, mean, variance) → (y, running mean?, running variance?)
  Result<std::vector<ValueId>> Forward(const graph::Node& node) {
    HR_ASSIGN_OR_RETURN(const Statistics of, StatisticsOf(node.inputs[0], node.inputs[3]));
    const ValueId normal = Normalized(of, node);
    const ValueId y =
        f_.Add(f_.Mul(normal, Channels(node.inputs[1], normal)), Channels(node.inputs[2], normal));
    if (node.outputs.size() > 1 && node.outputs[1] != kNone) {
      means_.emplace_back(node.outputs[1], of);
    }
    const ValueId keep = f_.Number(node.Float("momentum", 0.9));
    const auto mixed = [&](ValueId old, ValueId now) {
      const ValueId both =
          f_.Add(f_.Mul(keep, Double(old)), f_.Mul(f_.Sub(f_.Number(1), keep), now));
      return f_.CastLike(both, old);
    };
    return std::vector{f_.Cast(y, f_.type(of.x).dtype), mixed(node.inputs[3], of.mean),
                       mixed(node.inputs[4], of.spread)};
  }

  // (dy, x, scale, mean, variance) → (dx, dscale, dbias). A rank's dy is the gradient of its own
  // mean loss, of which `weight` counts for all: so what comes from the statistics is the sum of
  // the weighted ones, divided by this rank's weight; it is multiplied by it when gradients of
  // variables are averaged.
  Result<std::vector<ValueId>> Gradient(const graph::Node& node) {
    HR_ASSIGN_OR_RETURN(const Statistics of, StatisticsOf(node.inputs[1], node.inputs[3]));
    const ValueId normal = Normalized(of, node);
    const ValueId dy = f_.Cast(node.inputs[0], of.dtype);
    const ValueId dbias = SumOverBatch(dy), dscale = SumOverBatch(f_.Mul(dy, normal));
    HR_RETURN_IF_ERROR(f_.status());
    HR_ASSIGN_OR_RETURN(const auto sums,
                        ranks_.AllReduce({Double(dbias), Double(dscale)}, "sum", weight_));
    const ValueId count = weight_ == kNone ? of.count : f_.Mul(weight_, of.count);
    const ValueId rest = f_.Sub(f_.Sub(dy, Channels(f_.Div(sums[0], count), dy)),
                                f_.Mul(normal, Channels(f_.Div(sums[1], count), dy)));
    const ValueId factor = f_.Mul(Double(node.inputs[2]), Inverse(of, node));
    const ValueId dx = f_.Mul(rest, Channels(factor, dy));
    return std::vector{f_.Cast(dx, f_.type(node.inputs[0]).dtype),
                       f_.CastLike(dscale, node.inputs[2]), f_.CastLike(dbias, node.inputs[2])};
  }

  GraphBuilder& builder_;
  RankNodes& ranks_;
  Formula& f_;
  const ValueId weight_;
  std::vector<Statistics> statistics_;
  std::vector<std::pair<ValueId, Statistics>> means_;  // by the running mean that follows
};

}  // namespace

std::vector<NodeId> BatchStatisticsNodes(const GraphBuilder& builder, const graph::Marks& marked) {
  std::vector<NodeId> out;
  for (NodeId id = 0; id < marked.size(); ++id) {
    const graph::Node& node = builder.graph().nodes[id];
    if (!marked[id] || node.Int("training_mode", 0) == 0) continue;
    if (IsOp(builder, node, ops::kOnnx, "BatchNormalization") ||
        IsOp(builder, node, ops::kGrad, Synchronizer::kGradient)) {
      out.push_back(id);
    }
  }
  return out;
}

Status SynchronizeBatchNorm(GraphBuilder& builder, RankNodes& ranks, Formula& f,
                            std::span<const NodeId> nodes, const graph::Marks& marked,
                            ValueId weight) {
  Synchronizer synchronizer(builder, ranks, f, weight);
  for (NodeId id : nodes) HR_RETURN_IF_ERROR(synchronizer.Replace(id));
  for (NodeId id = 0; id < marked.size(); ++id) {
    if (marked[id]) HR_RETURN_IF_ERROR(synchronizer.ReplaceCount(id));
  }
  return {};
}

}  // namespace hr::transform
