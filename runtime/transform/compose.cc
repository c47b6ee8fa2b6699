#include "runtime/transform/compose.h"

#include <algorithm>

#include "runtime/ops/compose.h"

namespace hr::transform {
namespace {

const ops::OpDef& DefOf(const GraphBuilder& builder, NodeId id) {
  return ops::DefOf(builder.registry(), builder.module(), builder.graph().nodes[id]);
}

Status ComposeNode(GraphBuilder& builder, NodeId id) {
  const graph::Node node = builder.graph().nodes[id];  // a copy: the graph grows
  const std::string device = builder.SetDevice(node.device);
  builder.SetScope(node.name);
  auto outputs = EmitComposition(builder, id, node.inputs);
  builder.SetScope("");
  builder.SetDevice(device);
  if (!outputs.ok()) return std::move(outputs).status();
  builder.Redirect(id, *outputs);
  return {};
}

}  // namespace

bool HasComposed(const ops::OpRegistry& registry, const graph::Module& module) {
  const auto& nodes = module.main().nodes;
  return std::any_of(nodes.begin(), nodes.end(), [&](const graph::Node& node) {
    const graph::Operator& op = module.OperatorOf(node);
    const ops::OpDef* def = registry.Find(op.domain, op.name, op.version);
    return def != nullptr && def->compose != nullptr;
  });
}

Result<std::vector<ValueId>> EmitComposition(GraphBuilder& builder, NodeId node,
                                             std::vector<ValueId> inputs) {
  const ops::OpDef& def = DefOf(builder, node);
  const std::string name = graph::NodeText(builder.module(), builder.graph(), node);
  ops::ComposeContext context(def, builder, node, std::move(inputs));
  def.compose(context);
  HR_RETURN_IF_ERROR(context.status().WithNode(name));
  return context.outputs();
}

Result<graph::Module> Composed(Allocator& allocator, const ops::OpRegistry& registry,
                               const graph::Module& module) {
  GraphBuilder builder(allocator, registry, module);
  // A composition may have composed operators of its own, which are appended.
  for (NodeId id = 0; id < builder.graph().nodes.size(); ++id) {
    if (DefOf(builder, id).compose != nullptr) HR_RETURN_IF_ERROR(ComposeNode(builder, id));
  }
  return std::move(builder).Take();
}

}  // namespace hr::transform
