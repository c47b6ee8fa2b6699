// Reductions over axes. Axes are an attribute in old versions and an input in new ones.
#include "runtime/ops/reduction.h"

#include <algorithm>

#include "runtime/ops/builtin.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kAxesAttribute[] = {{"axes", AttributeKind::kInts},
                                           {"keepdims", AttributeKind::kFlag}};
constexpr AttributeDef kAxesInput[] = {{"keepdims", AttributeKind::kFlag},
                                       {"noop_with_empty_axes", AttributeKind::kFlag}};
constexpr AttributeDef kArgAttributes[] = {{"axis", AttributeKind::kInt},
                                           {"keepdims", AttributeKind::kFlag},
                                           {"select_last_index", AttributeKind::kFlag}};

// Returns the dimensions that are left when `axes` (ascending) are reduced.
std::vector<Dim> ReducedDims(const std::vector<Dim>& dims, std::span<const int64_t> axes,
                             bool keep) {
  std::vector<Dim> out;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(i))) {
      out.push_back(dims[i]);
    } else if (keep) {
      out.push_back(FixedDim(1));
    }
  }
  return out;
}

// Returns the output's type if the axes are an input whose value is not known.
ValueType ReducedOverUnknownAxes(const InferContext& context, bool keep) {
  const ValueType& x = context.input(0);
  const ValueType& axes = context.input(1);
  ValueType out = ValueType::Unranked(x.dtype);
  bool counted = axes.rank() == 1 && axes.dims[0].fixed() && axes.dims[0].size > 0;
  if (!x.ranked || (!keep && (!counted || axes.dims[0].size > x.rank()))) return out;
  out.ranked = true;
  out.dims.resize(x.dims.size() - static_cast<size_t>(keep ? 0 : axes.dims[0].size));
  return out;
}

Status InferAnyReduce(InferContext& context) {
  const Node& node = context.node();
  const ValueType& x = context.input(0);
  bool keep = node.Int("keepdims", 1) != 0;
  std::vector<int64_t> axes(node.Ints("axes").begin(), node.Ints("axes").end());
  if (context.has_input(1)) {
    HR_RETURN_IF_ERROR(context.ExpectInts(1));
    auto known = context.ConstantInts(1);
    if (!known) {
      context.SetOutput(0, ReducedOverUnknownAxes(context, keep));
      return {};
    }
    axes = *known;
  }
  if (axes.empty() && node.Int("noop_with_empty_axes", 0) != 0) return InferSameAsInput(context);
  if (!x.ranked) {
    bool scalar = axes.empty() && !keep;
    context.SetOutput(0, scalar ? ValueType::Tensor(x.dtype, {}) : x);
    return {};
  }
  if (axes.empty()) {
    for (int64_t i = 0; i < x.rank(); ++i) axes.push_back(i);
  }
  HR_ASSIGN_OR_RETURN(axes, ResolveAxes(context, axes, x.rank()));
  SetDims(context, 0, x.dtype, ReducedDims(x.dims, axes, keep));
  return {};
}

Status InferReduction(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectNumeric(0));
  return InferAnyReduce(context);
}

Status InferArg(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectNumeric(0));
  const ValueType& x = context.input(0);
  if (!x.ranked) {
    context.SetUnranked(0, DType::kInt64);
    return {};
  }
  HR_ASSIGN_OR_RETURN(int64_t axis, ResolveAxis(context, context.node().Int("axis", 0), x.rank()));
  bool keep = context.node().Int("keepdims", 1) != 0;
  SetDims(context, 0, DType::kInt64, ReducedDims(x.dims, std::span(&axis, 1), keep));
  return {};
}

// Returns the axes as a value; kNone for all of them.
ValueId Axes(GradientContext& g) {
  auto given = g.node().Ints("axes");
  if (!given.empty()) return g.Ints(std::vector<int64_t>(given.begin(), given.end()));
  auto known = g.ConstantInts(g.input(1));
  return known && known->empty() ? kNone : g.input(1);
}

bool ReducesNothing(GradientContext& g) {
  if (g.node().Int("noop_with_empty_axes", 0) == 0) return false;
  return Axes(g) == kNone;
}

// Returns a value of the output's shape with the reduced axes put back as 1. Without axes it is a
// scalar or has them already, and broadcasts.
ValueId WithAxes(GradientContext& g, ValueId value) {
  if (g.node().Int("keepdims", 1) != 0) return value;
  ValueId axes = Axes(g);
  return axes == kNone ? value : g.Emit("Unsqueeze", {value, axes});
}

// The same reduction of another value, with keepdims.
ValueId ReduceAlike(GradientContext& g, Literal name, ValueId value) {
  return g.Emit(name, {value, Axes(g)});
}

// 1 where the value is 0, else 0.
ValueId IsZero(GradientContext& g, ValueId value) {
  return g.CastLike(g.Emit("Equal", {value, g.Scalar(0, value)}), value);
}

ValueId SumRule(GradientContext& g, ValueId dy) {
  return g.EmitGrad("ExpandLike", {dy, g.input(0)});
}
ValueId MeanRule(GradientContext& g, ValueId dy) { return SpreadMean(g, dy, g.input(0)); }
ValueId ExtremeRule(GradientContext& g, ValueId dy) {
  return SpreadToExtremes(g, dy, WithAxes(g, g.output(0)), g.input(0));
}
// The gradient of an element is the product of the others, zeros included: the product is taken
// with ones for zeros, and an element gets 0 if another one is 0.
ValueId ProdRule(GradientContext& g, ValueId dy) {
  ValueId zero = IsZero(g, g.input(0));
  ValueId nonzero = g.Add(g.input(0), zero);
  ValueId product = g.Div(ReduceAlike(g, "ReduceProd", nonzero), nonzero);
  ValueId other_zeros = g.Sub(ReduceAlike(g, "ReduceSum", zero), zero);
  return g.Mul(dy, g.Mul(product, IsZero(g, other_zeros)));
}
ValueId SumSquareRule(GradientContext& g, ValueId dy) { return g.Mul(g.Scale(dy, 2), g.input(0)); }
ValueId L1Rule(GradientContext& g, ValueId dy) { return g.Mul(dy, g.Emit("Sign", {g.input(0)})); }
// 0 at the origin.
ValueId L2Rule(GradientContext& g, ValueId dy) {
  ValueId y = WithAxes(g, g.output(0));
  return g.Mul(g.Div(dy, g.Add(y, IsZero(g, y))), g.input(0));
}
ValueId LogSumRule(GradientContext& g, ValueId dy) {
  ValueId sum = g.Emit("Exp", {WithAxes(g, g.output(0))});
  return g.EmitGrad("ExpandLike", {g.Div(dy, sum), g.input(0)});
}
ValueId LogSumExpRule(GradientContext& g, ValueId dy) {
  return g.Mul(dy, g.Emit("Exp", {g.Sub(g.input(0), WithAxes(g, g.output(0)))}));
}

template <ValueId (*Rule)(GradientContext&, ValueId dy)>
void ReduceGradient(GradientContext& g) {
  bool nothing = ReducesNothing(g);
  g.SetGrad(0, nothing ? g.grad(0) : Rule(g, WithAxes(g, g.grad(0))));
}

using Gradient = void (*)(GradientContext&);

constexpr OpDef WithAttribute(Literal name, Gradient gradient) {
  return {.domain = kOnnx,
          .name = name,
          .attributes = kAxesAttribute,
          .infer = InferReduction,
          .gradient = gradient};
}
constexpr OpDef WithInput(Literal name, int version, Gradient gradient) {
  return {.domain = kOnnx,
          .name = name,
          .since_version = version,
          .inputs = {1, 2},
          .attributes = kAxesInput,
          .infer = InferReduction,
          .gradient = gradient};
}
// Version 20 also takes booleans.
constexpr OpDef Extreme20(Literal name) {
  OpDef def = WithInput(name, 20, ReduceGradient<ExtremeRule>);
  def.infer = InferAnyReduce;
  return def;
}
constexpr OpDef Arg(Literal name) {
  return {.domain = kOnnx, .name = name, .attributes = kArgAttributes, .infer = InferArg};
}

// (x) or (x, axes?) → reduced
constexpr OpDef kReductionOps[] = {
    WithAttribute("ReduceSum", ReduceGradient<SumRule>),
    WithInput("ReduceSum", 13, ReduceGradient<SumRule>),
    WithAttribute("ReduceMean", ReduceGradient<MeanRule>),
    WithInput("ReduceMean", 18, ReduceGradient<MeanRule>),
    WithAttribute("ReduceMax", ReduceGradient<ExtremeRule>),
    WithInput("ReduceMax", 18, ReduceGradient<ExtremeRule>),
    Extreme20("ReduceMax"),
    WithAttribute("ReduceMin", ReduceGradient<ExtremeRule>),
    WithInput("ReduceMin", 18, ReduceGradient<ExtremeRule>),
    Extreme20("ReduceMin"),
    WithAttribute("ReduceProd", ReduceGradient<ProdRule>),
    WithInput("ReduceProd", 18, ReduceGradient<ProdRule>),
    WithAttribute("ReduceSumSquare", ReduceGradient<SumSquareRule>),
    WithInput("ReduceSumSquare", 18, ReduceGradient<SumSquareRule>),
    WithAttribute("ReduceL1", ReduceGradient<L1Rule>),
    WithInput("ReduceL1", 18, ReduceGradient<L1Rule>),
    WithAttribute("ReduceL2", ReduceGradient<L2Rule>),
    WithInput("ReduceL2", 18, ReduceGradient<L2Rule>),
    WithAttribute("ReduceLogSum", ReduceGradient<LogSumRule>),
    WithInput("ReduceLogSum", 18, ReduceGradient<LogSumRule>),
    WithAttribute("ReduceLogSumExp", ReduceGradient<LogSumExpRule>),
    WithInput("ReduceLogSumExp", 18, ReduceGradient<LogSumExpRule>),
    // (x) → int64 positions of the extreme along the axis
    Arg("ArgMax"),
    Arg("ArgMin"),
};

}  // namespace

ValueId SpreadMean(GradientContext& g, ValueId dy, ValueId x) {
  if (!g.ok()) return kNone;
  const auto whole = g.type(x).FixedDims(), reduced = g.type(dy).FixedDims();
  // Types of 16 bits hold neither large counts nor their reciprocals.
  const DType dtype = g.type(dy).dtype;
  const ValueId sum = DTypeSize(dtype) < 4 ? g.Cast(dy, DType::kFloat32) : dy;
  ValueId share;
  if (whole && reduced && ElementCount(*whole) > 0) {
    share = g.Scale(sum, static_cast<double>(ElementCount(*reduced)) /
                             static_cast<double>(ElementCount(*whole)));
  } else {
    const ValueId left = g.CastLike(g.Emit("Size", {dy}), sum);
    share = g.Div(sum, g.Div(g.CastLike(g.Emit("Size", {x}), sum), left));
  }
  return g.EmitGrad("ExpandLike", {g.Cast(share, dtype), x});
}

ValueId SpreadToExtremes(GradientContext& g, ValueId dy, ValueId y, ValueId x) {
  ValueId chosen = g.CastLike(g.Emit("Equal", {x, y}), x);
  return g.Mul(chosen, g.Div(dy, g.SumTo(chosen, y)));
}

OpFamily ReductionOps() { return Chosen<kReductionOps>(); }

}  // namespace hr::ops
