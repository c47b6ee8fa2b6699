#include "runtime/transform/infer_types.h"

#include <algorithm>

#include "runtime/ops/constant_node.h"
#include "runtime/ops/infer.h"

namespace hr::transform {

using graph::kNone;

namespace {

// Type rules and kernels multiply the dimensions of what they take without looking. Those that are
// not known count as 1 here, and are checked when they are.
Status CheckSize(const graph::ValueType& type) {
  Dims dims;
  for (const graph::Dim& dim : type.dims) dims.push_back(dim.fixed() ? dim.size : 1);
  const size_t element_bytes = std::max<size_t>(1, DTypeSize(type.dtype));
  return CheckedElementCount(dims, element_bytes).status().Clone();
}

// Only operators that say so take sequences and optionals.
Status CheckKinds(const ops::OpDef& def, std::span<const graph::ValueType* const> types) {
  if (def.containers || def.control != ops::Control::kNone) return {};
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] == nullptr || types[i]->kind == graph::ValueKind::kTensor) continue;
    return InvalidArgument(def.name, " takes a tensor as input ", i, ", got ",
                           graph::KindName(types[i]->kind));
  }
  return {};
}

// The values of a node's inputs as far as they are known: constants, and what Constant nodes make.
class KnownInputs {
 public:
  Status Find(const graph::Module& module, const graph::Graph& graph, const graph::Node& node) {
    made_.reserve(node.inputs.size());
    for (const graph::ValueId input : node.inputs) {
      const Tensor*& known = tensors_.emplace_back(nullptr);
      if (input == kNone) continue;
      const graph::Value& value = graph.values[input];
      if (value.constant != kNone) {
        known = &module.constants[value.constant];
      } else if (IsMadeByConstant(module, graph, value)) {
        HR_ASSIGN_OR_RETURN(auto&& made,
                            ops::ValueOfConstantNode(module, graph.nodes[value.producer]));
        known = &made_.emplace_back(std::move(made));
      }
    }
    return {};
  }
  std::span<const Tensor* const> tensors() const { return tensors_; }

 private:
  static bool IsMadeByConstant(const graph::Module& module, const graph::Graph& graph,
                               const graph::Value& value) {
    return value.producer != kNone &&
           ops::IsConstantNode(module.OperatorOf(graph.nodes[value.producer]));
  }

  std::vector<const Tensor*> tensors_;
  std::vector<Tensor> made_;
};

}  // namespace

Status InferNode(const ops::OpRegistry& registry, const graph::Module& module, graph::Graph& graph,
                 graph::NodeId id, uint64_t* asked) {
  const graph::Node& node = graph.nodes[id];
  HR_ASSIGN_OR_RETURN(const ops::OpDef* def, registry.Get(module.OperatorOf(node)));
  HR_RETURN_IF_ERROR(ops::CheckNode(*def, node).WithNode(graph::NodeText(module, graph, id)));
  std::vector<const graph::ValueType*> types;
  for (graph::ValueId input : node.inputs) {
    types.push_back(input == kNone ? nullptr : &graph.values[input].type);
  }
  KnownInputs known;
  HR_RETURN_IF_ERROR(known.Find(module, graph, node));
  HR_RETURN_IF_ERROR(CheckKinds(*def, types).WithNode(graph::NodeText(module, graph, id)));
  std::vector<graph::ValueType> outputs(node.outputs.size());
  ops::InferContext context(*def, module, node, types, known.tensors(), outputs);
  HR_RETURN_IF_ERROR(def->infer(context).WithNode(graph::NodeText(module, graph, id)));
  if (asked != nullptr) *asked = context.asked();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (node.outputs[i] == kNone) continue;
    if (Status status = CheckSize(outputs[i]); !status.ok()) {
      return std::move(status)
          .WithContext(graph::ValueText(graph, node.outputs[i]))
          .WithNode(graph::NodeText(module, graph, id));
    }
    graph.values[node.outputs[i]].type = std::move(outputs[i]);
  }
  return {};
}

Status InferTypes(const ops::OpRegistry& registry, const graph::Module& module,
                  graph::Graph& graph) {
  HR_ASSIGN_OR_RETURN(auto&& order, graph::TopologicalOrder(graph));
  for (graph::NodeId id : order) HR_RETURN_IF_ERROR(InferNode(registry, module, graph, id));
  return {};
}

}  // namespace hr::transform
