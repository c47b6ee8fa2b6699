#include "runtime/base/errors.h"
#include "runtime/device/zeros.h"
#include "runtime/ops/control.h"
#include "runtime/transform/body_scope.h"
#include "runtime/transform/control.h"
#include "runtime/transform/gradients.h"

namespace hr::transform {
namespace {

using ops::kOnnx;

bool IsDifferentiable(const graph::ValueType& type) {
  return type.kind == graph::ValueKind::kTensor && IsFloating(type.dtype);
}

Result<ValueId> EmitZerosLike(GraphBuilder& builder, ValueId like) {
  const DType dtype = builder.graph().values[like].type.dtype;
  HR_ASSIGN_OR_RETURN(auto&& zero, MakeZeros(builder.allocator(), dtype, {}));
  HR_ASSIGN_OR_RETURN(ValueId value, builder.Constant(std::move(zero)));
  HR_ASSIGN_OR_RETURN(ValueId shape, builder.EmitOne(kOnnx, "Shape", {like}));
  return builder.EmitOne(kOnnx, "Expand", {value, shape});
}

// What the gradients of values are within a body: 0 for those on which nothing depends.
Result<std::vector<ValueId>> GradientsOrZeros(GraphBuilder& builder, std::span<const ValueId> ys,
                                              std::span<const ValueId> xs,
                                              std::span<const ValueId> grad_ys) {
  std::vector<ValueId> out(xs.size(), kNone);
  if (!ys.empty()) {
    HR_ASSIGN_OR_RETURN(out, AddGradients(builder, ys, xs, grad_ys));
  }
  for (size_t i = 0; i < xs.size(); ++i) {
    if (out[i] == kNone) {
      HR_ASSIGN_OR_RETURN(out[i], EmitZerosLike(builder, xs[i]));
    }
  }
  return out;
}

// Positions of the marks that are set.
std::vector<size_t> Where(const graph::Marks& marks, size_t first, size_t last) {
  std::vector<size_t> out;
  for (size_t i = first; i < last; ++i) {
    if (marks[i]) out.push_back(i);
  }
  return out;
}

// --- If

class IfGradient {
 public:
  IfGradient(GraphBuilder& builder, NodeId id, std::span<const ValueId> grads,
             const graph::Marks& wanted)
      : builder_(builder),
        node_(builder.graph().nodes[id]),
        grads_(grads),
        wanted_(Where(wanted, 1, wanted.size())) {
    captured_.assign(node_.inputs.begin() + 1, node_.inputs.end());
    for (size_t i = 0; i < grads.size(); ++i) {
      if (grads[i] != kNone) differentiated_.push_back(i);
    }
  }

  Result<std::vector<ValueId>> Run() {
    HR_ASSIGN_OR_RETURN(graph::GraphIndex then, MakeBranch("then_branch"));
    HR_ASSIGN_OR_RETURN(graph::GraphIndex otherwise, MakeBranch("else_branch"));
    std::vector<ValueId> inputs = node_.inputs;
    for (size_t i : differentiated_) inputs.push_back(grads_[i]);
    const auto captured = static_cast<int64_t>(inputs.size() - 1);
    HR_ASSIGN_OR_RETURN(
        auto&& found,
        builder_.Emit(kOnnx, "If", inputs, wanted_.size(),
                      {{"then_branch", then}, {"else_branch", otherwise}, {"captured", captured}}));
    std::vector<ValueId> out(node_.inputs.size(), kNone);
    for (size_t i = 0; i < wanted_.size(); ++i) out[wanted_[i]] = found[i];
    return out;
  }

 private:
  // (captured…, gradients of outputs…) → (gradients of those that are wanted…)
  Result<graph::GraphIndex> MakeBranch(Literal attribute) {
    HR_ASSIGN_OR_RETURN(const uint32_t branch, ops::BodyOf(builder_.module(), node_, attribute));
    std::vector<ValueId> given;
    for (size_t i : differentiated_) given.push_back(grads_[i]);
    BodyScope scope(builder_);
    HR_ASSIGN_OR_RETURN(auto&& captured, scope.AddInputsLike(captured_));
    HR_ASSIGN_OR_RETURN(auto&& grad_ys, scope.AddInputsLike(given));
    HR_ASSIGN_OR_RETURN(auto&& outputs, builder_.EmitBody(branch, captured));
    std::vector<ValueId> ys, xs;
    for (size_t i : differentiated_) ys.push_back(outputs[i]);
    for (size_t i : wanted_) xs.push_back(captured[i - 1]);
    HR_ASSIGN_OR_RETURN(auto&& gradients, GradientsOrZeros(builder_, ys, xs, grad_ys));
    scope.SetOutputs(std::move(gradients));
    return scope.index();
  }

  GraphBuilder& builder_;
  const graph::Node node_;  // a copy: the graph grows
  const std::span<const ValueId> grads_;
  const std::vector<size_t> wanted_;  // inputs
  std::vector<ValueId> captured_;
  std::vector<size_t> differentiated_;  // outputs
};

// --- Loop

class LoopGradient {
 public:
  LoopGradient(GraphBuilder& builder, NodeId id, std::span<const ValueId> grads,
               const graph::Marks& wanted)
      : builder_(builder),
        id_(id),
        node_(builder.graph().nodes[id]),
        grads_(grads.begin(), grads.end()),
        wanted_(wanted) {}

  Result<std::vector<ValueId>> Run() {
    HR_ASSIGN_OR_RETURN(layout_, ops::LoopLayoutOf(builder_.module(), node_));
    HR_ASSIGN_OR_RETURN(body_, ops::BodyOf(builder_.module(), node_, "body"));
    grads_.resize(layout_.states + layout_.scans, kNone);
    HR_RETURN_IF_ERROR(FindOperands());
    HR_RETURN_IF_ERROR(KeepStates());
    return EmitBackward();
  }

 private:
  const graph::ValueType& TypeOf(ValueId value) { return builder_.graph().values[value].type; }

  // Which states carry a gradient back, and which captured values and scans have one.
  Status FindOperands() {
    for (size_t i = 0; i < layout_.states; ++i) {
      const ValueId state = node_.inputs[2 + i];
      if (TypeOf(state).kind != graph::ValueKind::kTensor) {
        return Unimplemented("a Loop whose state ", i, " is a ",
                             graph::KindName(TypeOf(state).kind),
                             " has no gradient; carry tensors, or scan outputs, instead");
      }
      if (IsDifferentiable(TypeOf(state))) states_.push_back(i);
    }
    captured_ = Where(wanted_, 2 + layout_.states, node_.inputs.size());
    for (size_t i = 0; i < layout_.scans; ++i) {
      if (grads_[layout_.states + i] != kNone) scans_.push_back(i);
    }
    return {};
  }

  // Makes the node give, behind its outputs, the number of each iteration and the states at its
  // start.
  Status KeepStates() {
    const size_t first = layout_.states + layout_.scans;
    HR_ASSIGN_OR_RETURN(graph::GraphIndex body, MakeKeepingBody());
    std::vector<graph::Attribute> attributes = node_.attributes;
    for (graph::Attribute& attribute : attributes) {
      if (attribute.name == "body") attribute.value = body;
    }
    builder_.SetAttributes(id_, std::move(attributes));
    HR_ASSIGN_OR_RETURN(steps_, builder_.RequireOutput(id_, first));
    for (size_t i = 0; i < layout_.states; ++i) {
      HR_ASSIGN_OR_RETURN(ValueId kept, builder_.RequireOutput(id_, first + 1 + i));
      kept_.push_back(kept);
    }
    return {};
  }

  Result<graph::GraphIndex> MakeKeepingBody() {
    const graph::Graph& old = builder_.module().graphs[body_];
    std::vector<graph::ValueType> types;
    for (ValueId input : old.inputs) types.push_back(old.values[input].type);
    BodyScope scope(builder_);
    std::vector<ValueId> inputs;
    for (const graph::ValueType& type : types) {
      HR_ASSIGN_OR_RETURN(ValueId input, scope.AddInput(type));
      inputs.push_back(input);
    }
    HR_ASSIGN_OR_RETURN(auto&& outputs, builder_.EmitBody(body_, inputs));
    for (size_t i = 0; i < 1 + layout_.states; ++i) {
      // The number of the iteration, then what stands behind the condition.
      const ValueId kept = inputs[i == 0 ? 0 : 1 + i];
      HR_ASSIGN_OR_RETURN(ValueId copy, builder_.EmitOne(kOnnx, "Identity", {kept}));
      outputs.push_back(copy);
    }
    scope.SetOutputs(std::move(outputs));
    return scope.index();
  }

  // Loop' over (gradients of states…, sums for captured values…), with (kept states…, captured…,
  // gradients of scans…, number of iterations) captured.
  Result<std::vector<ValueId>> EmitBackward() {
    HR_ASSIGN_OR_RETURN(ValueId shape, builder_.EmitOne(kOnnx, "Shape", {steps_}));
    HR_ASSIGN_OR_RETURN(ValueId zero, Number(0));
    HR_ASSIGN_OR_RETURN(ValueId trips, builder_.EmitOne(kOnnx, "Gather", {shape, zero}));
    std::vector<ValueId> carried, given = kept_;
    for (size_t i : states_) {
      ValueId grad = grads_[i];
      if (grad == kNone) {
        HR_ASSIGN_OR_RETURN(grad, EmitZerosLike(builder_, node_.inputs[2 + i]));
      }
      carried.push_back(grad);
    }
    for (size_t i : captured_) {
      HR_ASSIGN_OR_RETURN(ValueId sum, EmitZerosLike(builder_, node_.inputs[i]));
      carried.push_back(sum);
    }
    given.insert(given.end(),
                 node_.inputs.begin() + static_cast<std::ptrdiff_t>(layout_.first_captured()),
                 node_.inputs.end());
    for (size_t i : scans_) given.push_back(grads_[layout_.states + i]);
    given.push_back(trips);
    HR_ASSIGN_OR_RETURN(graph::GraphIndex body, MakeBackwardBody(carried, given));
    std::vector<ValueId> inputs = {trips, kNone};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    inputs.insert(inputs.end(), given.begin(), given.end());
    HR_ASSIGN_OR_RETURN(
        auto&& found,
        builder_.Emit(kOnnx, "Loop", inputs, carried.size(),
                      {{"body", body}, {"captured", static_cast<int64_t>(given.size())}}));
    std::vector<ValueId> out(node_.inputs.size(), kNone);
    for (size_t i = 0; i < states_.size(); ++i) out[2 + states_[i]] = found[i];
    for (size_t i = 0; i < captured_.size(); ++i) out[captured_[i]] = found[states_.size() + i];
    return out;
  }

  Result<graph::GraphIndex> MakeBackwardBody(std::span<const ValueId> carried,
                                             std::span<const ValueId> given) {
    BodyScope scope(builder_);
    HR_ASSIGN_OR_RETURN(ValueId i, scope.AddInput(graph::ValueType::Tensor(DType::kInt64, {})));
    HR_ASSIGN_OR_RETURN(ValueId go, scope.AddInput(graph::ValueType::Tensor(DType::kBool, {})));
    HR_ASSIGN_OR_RETURN(auto&& grads, scope.AddInputsLike(carried));
    HR_ASSIGN_OR_RETURN(auto&& values, scope.AddInputsLike(given));
    HR_ASSIGN_OR_RETURN(ValueId one, Number(1));
    HR_ASSIGN_OR_RETURN(ValueId last, builder_.EmitOne(kOnnx, "Sub", {values.back(), one}));
    HR_ASSIGN_OR_RETURN(ValueId step, builder_.EmitOne(kOnnx, "Sub", {last, i}));

    HR_ASSIGN_OR_RETURN(auto&& arguments, ForwardArguments(step, values));
    HR_ASSIGN_OR_RETURN(auto&& outputs, builder_.EmitBody(body_, arguments));
    std::vector<ValueId> ys, grad_ys, xs;
    for (size_t s = 0; s < states_.size(); ++s) {
      ys.push_back(outputs[1 + states_[s]]);
      grad_ys.push_back(grads[s]);
      xs.push_back(arguments[2 + states_[s]]);
    }
    for (size_t s = 0; s < scans_.size(); ++s) {
      const ValueId all = values[layout_.states + layout_.captured + s];
      HR_ASSIGN_OR_RETURN(ValueId grad, builder_.EmitOne(kOnnx, "Gather", {all, step}));
      ys.push_back(outputs[1 + layout_.states + scans_[s]]);
      grad_ys.push_back(grad);
    }
    for (size_t c : captured_) xs.push_back(arguments[c]);
    HR_ASSIGN_OR_RETURN(auto&& found, GradientsOrZeros(builder_, ys, xs, grad_ys));
    for (size_t c = 0; c < captured_.size(); ++c) {
      const size_t at = states_.size() + c;
      HR_ASSIGN_OR_RETURN(found[at], builder_.EmitOne(kOnnx, "Add", {grads[at], found[at]}));
    }
    HR_ASSIGN_OR_RETURN(ValueId still, builder_.EmitOne(kOnnx, "Identity", {go}));
    found.insert(found.begin(), still);
    scope.SetOutputs(std::move(found));
    return scope.index();
  }

  // What the body was given in iteration `step`: each argument is a value of its own, so that
  // gradients flow to it and to nothing else.
  Result<std::vector<ValueId>> ForwardArguments(ValueId step, std::span<const ValueId> values) {
    std::vector<ValueId> out;
    const graph::Graph& forward = builder_.module().graphs[body_];
    const graph::ValueType number = forward.values[forward.inputs[0]].type;
    const graph::ValueType condition = forward.values[forward.inputs[1]].type;
    HR_ASSIGN_OR_RETURN(ValueId shaped, builder_.EmitOne(kOnnx, "Identity", {step}));
    if (number.rank() == 1) {
      HR_ASSIGN_OR_RETURN(auto&& dims,
                          MakeTensor<int64_t>(builder_.allocator(), {1}, std::vector<int64_t>{1}));
      HR_ASSIGN_OR_RETURN(ValueId shape, builder_.Constant(std::move(dims)));
      HR_ASSIGN_OR_RETURN(shaped, builder_.EmitOne(kOnnx, "Reshape", {step, shape}));
    }
    out.push_back(shaped);
    HR_ASSIGN_OR_RETURN(auto&& yes, Tensor::Create(builder_.allocator(), DType::kBool,
                                                   condition.rank() == 1 ? Dims{1} : Dims{}));
    *yes.as<bool>() = true;
    HR_ASSIGN_OR_RETURN(ValueId go, builder_.Constant(std::move(yes)));
    out.push_back(go);
    for (size_t i = 0; i < layout_.states; ++i) {
      HR_ASSIGN_OR_RETURN(ValueId state, builder_.EmitOne(kOnnx, "Gather", {values[i], step}));
      out.push_back(state);
    }
    for (size_t i = 0; i < layout_.captured; ++i) {
      HR_ASSIGN_OR_RETURN(ValueId copy,
                          builder_.EmitOne(kOnnx, "Identity", {values[layout_.states + i]}));
      out.push_back(copy);
    }
    return out;
  }

  Result<ValueId> Number(int64_t value) {
    HR_ASSIGN_OR_RETURN(auto&& tensor, MakeTensor<int64_t>(builder_.allocator(), {},
                                                           std::span<const int64_t>(&value, 1)));
    return builder_.Constant(std::move(tensor));
  }

  GraphBuilder& builder_;
  const NodeId id_;
  const graph::Node node_;  // a copy: the graph grows
  std::vector<ValueId> grads_;
  const graph::Marks& wanted_;
  ops::LoopLayout layout_{};
  uint32_t body_ = 0;
  std::vector<size_t> states_;    // those that are differentiable
  std::vector<size_t> captured_;  // inputs of the node whose gradients are wanted
  std::vector<size_t> scans_;     // those that have a gradient
  ValueId steps_ = kNone;         // the numbers of all iterations
  std::vector<ValueId> kept_;     // all states at the start of all iterations
};

}  // namespace

Result<std::vector<ValueId>> ControlGradients(GraphBuilder& builder, NodeId node,
                                              std::span<const ValueId> grads,
                                              const graph::Marks& wanted) {
  const graph::Operator& op = builder.module().OperatorOf(builder.graph().nodes[node]);
  const ops::OpDef& def = *builder.registry().Find(op.domain, op.name, op.version);
  if (def.control == ops::Control::kIf) return IfGradient(builder, node, grads, wanted).Run();
  return LoopGradient(builder, node, grads, wanted).Run();
}

}  // namespace hr::transform
