#include "runtime/transform/gradients.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/transform/compose.h"
#include "runtime/transform/control.h"

namespace hr::transform {
namespace {

class Differentiator {
 public:
  explicit Differentiator(GraphBuilder& builder)
      : builder_(builder), value_count_(builder.graph().values.size()) {}

  Result<std::vector<ValueId>> Run(std::span<const ValueId> ys, std::span<const ValueId> xs,
                                   std::span<const ValueId> grad_ys) {
    HR_ASSIGN_OR_RETURN(auto&& order, graph::TopologicalOrder(builder_.graph()));
    MarkDependents(order, xs);
    contributions_.resize(value_count_);
    for (size_t i = 0; i < ys.size(); ++i) {
      ValueId given = i < grad_ys.size() ? grad_ys[i] : kNone;
      if (given == kNone) {
        HR_ASSIGN_OR_RETURN(given, OnesLike(ys[i]));
      }
      contributions_[ys[i]].push_back(given);
    }
    graph::Marks needed = ReachedFrom(order, ys);
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      if (needed[*id]) HR_RETURN_IF_ERROR(VisitNode(*id));
    }
    std::vector<ValueId> out;
    for (ValueId x : xs) {
      HR_ASSIGN_OR_RETURN(ValueId grad, Accumulated(x));
      out.push_back(grad);
    }
    return out;
  }

 private:
  const graph::Graph& graph() const { return builder_.graph(); }
  bool Depends(ValueId value) const { return value < value_count_ && depends_[value]; }

  // depends_[v]: some x influences v through floating-point values.
  void MarkDependents(const std::vector<NodeId>& order, std::span<const ValueId> xs) {
    depends_.assign(value_count_, false);
    for (ValueId x : xs) depends_[x] = true;
    for (NodeId id : order) {
      const graph::Node& node = graph().nodes[id];
      bool any = std::any_of(node.inputs.begin(), node.inputs.end(),
                             [&](ValueId input) { return input != kNone && depends_[input]; });
      if (!any) continue;
      for (ValueId output : node.outputs) {
        if (output != kNone && IsFloating(graph().values[output].type.dtype))
          depends_[output] = true;
      }
    }
  }

  // Returns the nodes that lie between the xs and the ys.
  graph::Marks ReachedFrom(const std::vector<NodeId>& order, std::span<const ValueId> ys) {
    graph::Marks wanted(value_count_, false);
    graph::Marks needed(graph().nodes.size(), false);
    for (ValueId y : ys) wanted[y] = true;
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      const graph::Node& node = graph().nodes[*id];
      needed[*id] = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) {
        return output != kNone && wanted[output] && depends_[output];
      });
      if (!needed[*id]) continue;
      for (ValueId input : node.inputs) {
        if (input != kNone && depends_[input]) wanted[input] = true;
      }
    }
    return needed;
  }

  Result<ValueId> OnesLike(ValueId y) {
    const graph::ValueType type = graph().values[y].type;
    if (!IsFloating(type.dtype)) {
      return InvalidArgument("gradients start from floating-point values, '",
                             graph::ValueText(graph(), y), "' is ", DTypeName(type.dtype));
    }
    float one = 1.0f;
    HR_ASSIGN_OR_RETURN(auto&& scalar, MakeTensor<float>(builder_.allocator(), {},
                                                         std::span<const float>(&one, 1)));
    HR_ASSIGN_OR_RETURN(ValueId value, builder_.Constant(std::move(scalar)));
    if (type.dtype != DType::kFloat32) {
      HR_ASSIGN_OR_RETURN(value, builder_.EmitOne(ops::kOnnx, "Cast", {value},
                                                  {{"to", static_cast<int64_t>(type.dtype)}}));
    }
    if (type.ranked && type.dims.empty()) return value;
    HR_ASSIGN_OR_RETURN(ValueId shape, builder_.EmitOne(ops::kOnnx, "Shape", {y}));
    return builder_.EmitOne(ops::kOnnx, "Expand", {value, shape});
  }

  // Returns the sum of all contributions, which is added up at the first call; kNone if there are
  // none.
  Result<ValueId> Accumulated(ValueId value) {
    std::vector<ValueId>& parts = contributions_[value];
    if (parts.empty()) return kNone;
    while (parts.size() > 1) {
      HR_ASSIGN_OR_RETURN(ValueId sum, builder_.EmitOne(ops::kOnnx, "Add", {parts[0], parts[1]}));
      parts.erase(parts.begin());
      parts[0] = sum;
    }
    return parts[0];
  }

  // Gradients are computed where the node is.
  Status VisitNode(NodeId id) {
    const std::string before = builder_.SetDevice(graph().nodes[id].device);
    Status status = AddGradientsOf(id);
    builder_.SetDevice(before);
    return status;
  }

  Status AddGradientsOf(NodeId id) {
    const graph::Module& module = builder_.module();
    const ops::OpDef* def = builder_.registry().Get(module.OperatorOf(graph().nodes[id])).value();
    std::vector<ValueId> grads;
    bool any = false;
    std::vector<ValueId> outputs = graph().nodes[id].outputs;
    for (ValueId output : outputs) {
      ValueId grad = kNone;
      if (output != kNone && output < value_count_) {
        HR_ASSIGN_OR_RETURN(grad, Accumulated(output));
      }
      grads.push_back(grad);
      any |= grad != kNone;
    }
    const bool control = def->control == ops::Control::kIf || def->control == ops::Control::kLoop;
    // What gradients are computed by has derivatives, whether there is a rule for them or not.
    if (any && def->domain == ops::kGrad && !def->gradient) {
      return Unimplemented("a gradient of a gradient needs the derivative of ", def->name,
                           ", which is not there; compose the operator of others")
          .WithNode(graph::NodeText(module, graph(), id));
    }
    if (!any || (!def->gradient && !def->composed() && !control)) return {};
    graph::Marks wanted;
    std::vector<ValueId> inputs = graph().nodes[id].inputs;
    for (ValueId input : inputs) wanted.push_back(input != kNone && Depends(input));
    if (control) return AddGradientsOfControl(id, grads, wanted);
    if (!def->gradient) return AddGradientsOfComposed(id, grads, wanted);
    ops::GradientContext context(*def, builder_, id, grads, wanted);
    def->gradient(context);
    if (Status status = context.status(); !status.ok()) {
      return std::move(status)
          .WithContext("gradient")
          .WithNode(graph::NodeText(module, graph(), id));
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (wanted[i] && context.results()[i] != kNone) {
        contributions_[inputs[i]].push_back(context.results()[i]);
      }
    }
    return {};
  }

  Status AddGradientsOfControl(NodeId id, const std::vector<ValueId>& grads,
                               const graph::Marks& wanted) {
    const std::vector<ValueId> inputs = graph().nodes[id].inputs;
    auto found = ControlGradients(builder_, id, grads, wanted);
    if (!found.ok()) {
      return std::move(found)
          .status()
          .WithContext("gradient")
          .WithNode(graph::NodeText(builder_.module(), graph(), id));
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (wanted[i] && (*found)[i] != kNone) contributions_[inputs[i]].push_back((*found)[i]);
    }
    return {};
  }

  // Those of the composition, which is emitted once more with copies of the inputs: gradients flow
  // to these and not around the node. The plan computes it once.
  Status AddGradientsOfComposed(NodeId id, const std::vector<ValueId>& grads,
                                const graph::Marks& wanted) {
    const std::vector<ValueId> inputs = graph().nodes[id].inputs;
    std::vector<ValueId> copies = inputs, xs, ys, ys_grads;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!wanted[i]) continue;
      HR_ASSIGN_OR_RETURN(copies[i], builder_.EmitOne(ops::kOnnx, "Identity", {inputs[i]}));
      xs.push_back(copies[i]);
    }
    HR_ASSIGN_OR_RETURN(auto&& outputs, EmitComposition(builder_, id, copies));
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] == kNone || grads[i] == kNone) continue;
      ys.push_back(outputs[i]);
      ys_grads.push_back(grads[i]);
    }
    HR_ASSIGN_OR_RETURN(auto&& found, AddGradients(builder_, ys, xs, ys_grads));
    for (size_t i = 0, x = 0; i < inputs.size(); ++i) {
      if (!wanted[i]) continue;
      if (found[x] != kNone) contributions_[inputs[i]].push_back(found[x]);
      ++x;
    }
    return {};
  }

  GraphBuilder& builder_;
  const size_t value_count_;  // values that existed before; gradients do not flow into new ones
  graph::Marks depends_;
  std::vector<std::vector<ValueId>> contributions_;
};

// Loops in the place of Scans: their gradients and the values themselves come of the same nodes
// then.
Status ExpandScans(GraphBuilder& builder) {
  for (NodeId id = 0; id < builder.graph().nodes.size(); ++id) {
    const graph::Node node = builder.graph().nodes[id];  // a copy: the graph grows
    const graph::Operator& op = builder.module().OperatorOf(node);
    const ops::OpDef* def = builder.registry().Find(op.domain, op.name, op.version);
    if (def == nullptr || def->control != ops::Control::kScan) continue;
    HR_ASSIGN_OR_RETURN(auto&& outputs, EmitComposition(builder, id, node.inputs));
    builder.Redirect(id, outputs);
  }
  return {};
}

Status CheckValues(const graph::Graph& graph, std::span<const ValueId> values,
                   std::string_view what) {
  for (ValueId value : values) {
    if (value >= graph.values.size()) {
      return InvalidArgument("gradients: ", what, " #", value, " is not a value of this graph");
    }
  }
  return {};
}

Status CheckLoss(const GraphBuilder& builder, ValueId loss) {
  const graph::Graph& graph = builder.graph();
  if (loss >= graph.values.size()) return InvalidArgument("the loss is no value of this graph");
  const graph::ValueType& type = graph.values[loss].type;
  if (!type.ranked || type.dims.empty()) return {};
  return InvalidArgument("the loss must be a scalar, '", graph::ValueText(graph, loss), "' is ",
                         graph::TypeText(type, builder.module().symbols),
                         "; reduce it, e.g. by ReduceMean with keepdims=0");
}

struct VariableRead {
  uint32_t variable;
  ValueId value;
};

std::vector<VariableRead> ReadsOf(const GraphBuilder& builder, const graph::Marks& variables) {
  std::vector<VariableRead> out;
  for (const graph::Node& node : builder.graph().nodes) {
    const graph::Operator& op = builder.module().OperatorOf(node);
    if (op.domain != ops::kState || op.name != "Read") continue;
    const auto variable = static_cast<uint32_t>(node.Int("variable", 0));
    if (variables[variable] && node.outputs[0] != kNone) out.push_back({variable, node.outputs[0]});
  }
  return out;
}

// By variable.
Result<std::vector<ValueId>> SumOverReads(GraphBuilder& builder, ValueId loss,
                                          const std::vector<VariableRead>& reads) {
  std::vector<ValueId> xs;
  for (const VariableRead& read : reads) xs.push_back(read.value);
  HR_ASSIGN_OR_RETURN(auto&& found, AddGradients(builder, std::span(&loss, 1), xs));
  std::vector<ValueId> sums(builder.module().variables.size(), kNone);
  for (size_t i = 0; i < reads.size(); ++i) {
    if (found[i] == kNone) continue;
    ValueId& sum = sums[reads[i].variable];
    if (sum == kNone) {
      sum = found[i];
    } else {
      HR_ASSIGN_OR_RETURN(sum, builder.EmitOne(ops::kOnnx, "Add", {sum, found[i]}));
    }
  }
  return sums;
}

Result<std::vector<ValueId>> AddVariableGradients(GraphBuilder& builder, ValueId loss,
                                                  std::span<const uint32_t> variables) {
  HR_RETURN_IF_ERROR(CheckLoss(builder, loss));
  graph::Marks wanted(builder.module().variables.size(), false);
  for (uint32_t variable : variables) {
    HR_RETURN_IF_ERROR(builder.CheckVariable(variable));
    wanted[variable] = true;
  }
  const std::string device = builder.SetDevice("");
  HR_ASSIGN_OR_RETURN(auto&& sums, SumOverReads(builder, loss, ReadsOf(builder, wanted)));
  builder.SetDevice(device);
  std::vector<ValueId> out;
  for (uint32_t variable : variables) out.push_back(sums[variable]);
  return out;
}

}  // namespace

Result<std::vector<ValueId>> VariableGradients(GraphBuilder& builder, ValueId loss,
                                               std::span<const uint32_t> variables) {
  return builder.AllOrNothing([&] { return AddVariableGradients(builder, loss, variables); });
}

Result<std::vector<ValueId>> AddGradients(GraphBuilder& builder, std::span<const ValueId> ys,
                                          std::span<const ValueId> xs,
                                          std::span<const ValueId> grad_ys) {
  HR_RETURN_IF_ERROR(CheckValues(builder.graph(), ys, "y"));
  HR_RETURN_IF_ERROR(CheckValues(builder.graph(), xs, "x"));
  if (!grad_ys.empty() && grad_ys.size() != ys.size()) {
    return InvalidArgument("gradients want no grad_ys or one per y: ", ys.size(), ", got ",
                           grad_ys.size());
  }
  for (ValueId x : xs) {
    if (!IsFloating(builder.graph().values[x].type.dtype)) {
      return InvalidArgument("cannot differentiate with respect to '",
                             graph::ValueText(builder.graph(), x), "' of type ",
                             DTypeName(builder.graph().values[x].type.dtype));
    }
  }
  return builder.AllOrNothing([&]() -> Result<std::vector<ValueId>> {
    builder.SetScope("gradients");
    HR_RETURN_IF_ERROR(ExpandScans(builder));
    auto gradients = Differentiator(builder).Run(ys, xs, grad_ys);
    builder.SetScope("");
    return gradients;
  });
}

}  // namespace hr::transform
