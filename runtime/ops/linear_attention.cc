// LinearAttention: attention by a state of fixed size that each step changes.
#include "runtime/ops/builtin.h"
#include "runtime/ops/gradient.h"
#include "runtime/ops/shape_rules.h"

namespace hr::ops {
namespace {

constexpr AttributeDef kLinearAttributes[] = {{"chunk_size", AttributeKind::kInt},
                                              {"kv_num_heads", AttributeKind::kInt, true},
                                              {"q_num_heads", AttributeKind::kInt, true},
                                              {"scale", AttributeKind::kFloat},
                                              {"update_rule", AttributeKind::kString}};

// The sizes of q [batch, steps, q_heads·keys], k [batch, steps, heads·keys], v [batch, steps,
// heads·values] and the state [batch, heads, keys, values].
struct LinearSizes {
  int64_t q_heads = 0, heads = 0;
  Dim batch, steps, keys, values;

  static Result<LinearSizes> Of(const InferContext& context) {
    LinearSizes out;
    out.q_heads = context.node().Int("q_num_heads", 0);
    out.heads = context.node().Int("kv_num_heads", 0);
    if (out.heads < 1 || out.q_heads < 1 || out.q_heads % out.heads != 0) {
      return InvalidArgument(context.def().name,
                             " wants q_num_heads to be a multiple of "
                             "kv_num_heads, which is 1 or more, got ",
                             out.q_heads, " and ", out.heads);
    }
    HR_RETURN_IF_ERROR(out.MatchPacked(context, 0, out.q_heads, &out.keys));
    HR_RETURN_IF_ERROR(out.MatchPacked(context, 1, out.heads, &out.keys));
    HR_RETURN_IF_ERROR(out.MatchPacked(context, 2, out.heads, &out.values));
    HR_RETURN_IF_ERROR(out.MatchState(context, 3));
    HR_RETURN_IF_ERROR(out.CheckRule(context));
    return out;
  }

  // Input i is [batch, steps, heads·each].
  Status MatchPacked(const InferContext& context, size_t i, int64_t heads_of, Dim* each) {
    if (!context.has_input(i)) return {};
    HR_RETURN_IF_ERROR(context.ExpectSameDType(0, i));
    HR_RETURN_IF_ERROR(MatchRows(context, i));
    if (!context.input(i).ranked) return {};
    const Dim last = context.input(i).dims[2];
    if (!last.fixed()) return {};
    if (last.size == 0 || last.size % heads_of != 0) {
      return InvalidArgument(context.def().name, " cannot cut the last axis of ",
                             context.InputText(i), " into ", heads_of, " heads");
    }
    HR_ASSIGN_OR_RETURN(
        *each, EqualDims(context, Cat("sizes of a head up to ", context.InputText(i)), *each,
                         FixedDim(last.size / heads_of)));
    return {};
  }
  // [batch, steps, …]
  Status MatchRows(const InferContext& context, size_t i) {
    HR_RETURN_IF_ERROR(context.ExpectRank(i, 3));
    if (!context.input(i).ranked) return {};
    const std::vector<Dim>& dims = context.input(i).dims;
    const std::string what = Cat("batches or steps up to ", context.InputText(i));
    HR_ASSIGN_OR_RETURN(batch, EqualDims(context, what, batch, dims[0]));
    HR_ASSIGN_OR_RETURN(steps, EqualDims(context, what, steps, dims[1]));
    return {};
  }
  Status MatchState(const InferContext& context, size_t i) {
    if (!context.has_input(i)) return {};
    HR_RETURN_IF_ERROR(context.ExpectFloating(i));
    HR_RETURN_IF_ERROR(context.ExpectRank(i, 4));
    if (!context.input(i).ranked) return {};
    Dim own = FixedDim(heads);
    size_t axis = 0;
    for (Dim* dim : {&batch, &own, &keys, &values}) {
      HR_ASSIGN_OR_RETURN(*dim, EqualDims(context, Cat("axis ", axis, " of ", context.InputText(i)),
                                          *dim, context.input(i).dims[axis]));
      ++axis;
    }
    return {};
  }

  // The update rule, and the inputs decay and beta that it has or has not.
  Status CheckRule(const InferContext& context) {
    const std::string_view rule = context.node().String("update_rule", "gated_delta");
    if (!IsOneOf(rule, {"linear", "gated", "delta", "gated_delta"})) {
      return InvalidArgument(context.def().name,
                             "'s 'update_rule' is linear, gated, delta or "
                             "gated_delta, got '",
                             rule, "'");
    }
    const bool wanted[] = {rule.starts_with("gated"), rule.ends_with("delta")};
    for (size_t i : {4, 5}) {
      if (context.has_input(i) != wanted[i - 4]) {
        return InvalidArgument(context.def().name, " with update_rule ", rule,
                               wanted[i - 4] ? " needs its input " : " has no input ", i,
                               i == 4 ? ", the decay" : ", beta");
      }
      if (!context.has_input(i)) continue;
      HR_RETURN_IF_ERROR(context.ExpectSameDType(0, i));
      HR_RETURN_IF_ERROR(MatchRows(context, i));
      if (!context.input(i).ranked) continue;
      const Dim last = context.input(i).dims[2];
      const bool per_key = i == 4 && keys.fixed() && last == FixedDim(heads * keys.size);
      if (!last.fixed() || last.size == heads || per_key || (i == 5 && last.size == 1)) continue;
      if (i == 4 && !keys.fixed()) continue;
      return InvalidArgument(context.def().name, " wants one value a head in ",
                             context.InputText(i), i == 4 ? ", or one a key" : ", or one for all",
                             "; there are ", heads, " heads");
    }
    return {};
  }

  Result<std::vector<Dim>> Output(const InferContext& context) const {
    HR_ASSIGN_OR_RETURN(const Dim row, Product(context, std::array{FixedDim(q_heads), values}));
    return std::vector<Dim>{batch, steps, row};
  }
  std::vector<Dim> State() const { return {batch, FixedDim(heads), keys, values}; }
};

DType StateType(const InferContext& context) {
  return context.input(context.has_input(3) ? 3 : 0).dtype;
}

Status InferLinearAttention(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectFloating(0));
  HR_ASSIGN_OR_RETURN(const LinearSizes sizes, LinearSizes::Of(context));
  HR_ASSIGN_OR_RETURN(auto&& output, sizes.Output(context));
  SetDims(context, 0, context.input(0).dtype, std::move(output));
  SetDims(context, 1, StateType(context), sizes.State());
  return {};
}

void LinearAttentionGradient(GradientContext& g) {
  const ValueId inputs[] = {g.input(0), g.input(1), g.input(2), g.input(3),
                            g.input(4), g.input(5), g.grad(0),  g.grad(1)};
  const auto grads = g.EmitMany(kGrad, "LinearAttentionGrad", inputs, 6, g.node().attributes);
  if (!g.ok()) return;
  for (size_t i = 0; i < 6; ++i) {
    if (g.wants(i)) g.SetGrad(i, grads[i]);
  }
}

Status InferLinearAttentionGrad(InferContext& context) {
  HR_RETURN_IF_ERROR(context.ExpectFloating(0));
  HR_ASSIGN_OR_RETURN(LinearSizes sizes, LinearSizes::Of(context));
  Dim values = sizes.values;
  HR_RETURN_IF_ERROR(sizes.MatchPacked(context, 6, sizes.q_heads, &values));
  HR_RETURN_IF_ERROR(sizes.MatchState(context, 7));
  for (size_t i = 0; i < 3; ++i) context.SetOutput(i, context.input(i));
  SetDims(context, 3, StateType(context), sizes.State());
  for (size_t i : {4, 5}) {
    if (context.has_input(i)) {
      context.SetOutput(i, context.input(i));
    } else {
      SetDims(context, i, context.input(0).dtype, {FixedDim(0)});
    }
  }
  return {};
}

constexpr OpDef kLinearAttentionOps[] = {
    // (query, key, value, past_state?, decay?, beta?) → (y, present_state?)
    {.domain = kOnnx,
     .name = "LinearAttention",
     .since_version = 27,
     .inputs = {3, 6},
     .outputs = {1, 2},
     .attributes = kLinearAttributes,
     .infer = InferLinearAttention,
     .gradient = LinearAttentionGradient},
    // (query, key, value, past_state?, decay?, beta?, dy?, dpresent_state?) → the gradients of the
    // first six; empty for a decay or a beta that there is not
    {.domain = kGrad,
     .name = "LinearAttentionGrad",
     .inputs = {3, 8},
     .outputs = {6, 6},
     .attributes = kLinearAttributes,
     .infer = InferLinearAttentionGrad},
};

}  // namespace

OpFamily LinearAttentionOps() { return Chosen<kLinearAttentionOps>(); }

}  // namespace hr::ops
