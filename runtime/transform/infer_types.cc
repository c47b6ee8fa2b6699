#include "runtime/transform/infer_types.h"

#include <algorithm>

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

}  // namespace

Status InferNode(const ops::OpRegistry& registry, const graph::Module& module, graph::Graph& graph,
                 graph::NodeId id, uint64_t* asked) {
  const graph::Node& node = graph.nodes[id];
  HR_ASSIGN_OR_RETURN(const ops::OpDef* def, registry.Get(module.OperatorOf(node)));
  HR_RETURN_IF_ERROR(ops::CheckNode(*def, node).WithNode(graph::NodeText(module, graph, id)));
  std::vector<const graph::ValueType*> types;
  std::vector<const Tensor*> constants;
  for (graph::ValueId input : node.inputs) {
    bool given = input != kNone;
    types.push_back(given ? &graph.values[input].type : nullptr);
    uint32_t constant = given ? graph.values[input].constant : kNone;
    constants.push_back(constant == kNone ? nullptr : &module.constants[constant]);
  }
  HR_RETURN_IF_ERROR(CheckKinds(*def, types).WithNode(graph::NodeText(module, graph, id)));
  std::vector<graph::ValueType> outputs(node.outputs.size());
  ops::InferContext context(*def, module, node, types, constants, outputs);
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
