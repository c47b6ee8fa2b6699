#include "runtime/transform/compose.h"

#include <algorithm>

#include "runtime/ops/compose.h"
#include "runtime/transform/control.h"

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
    return def != nullptr && def->is_composed(module.main(), node);
  });
}

Result<std::vector<ValueId>> EmitComposition(GraphBuilder& builder, NodeId node,
                                             std::vector<ValueId> inputs) {
  const ops::OpDef& def = DefOf(builder, node);
  if (def.control == ops::Control::kCall) return EmitCall(builder, node, inputs);
  if (def.control == ops::Control::kScan) return EmitScan(builder, node, inputs);
  const std::string name = graph::NodeText(builder.module(), builder.graph(), node);
  ops::ComposeContext context(def, builder, node, std::move(inputs));
  def.compose(context);
  HR_RETURN_IF_ERROR(context.status().WithNode(name));
  return context.outputs();
}

namespace {

// Whether the composition needs to know what is not known, or it may be because of the rank of an
// input, or of an integer that may be a shape, an axis or a size.
bool MayWait(const GraphBuilder& builder, NodeId id, const Status& status) {
  if (status.code() == Code::kFailedPrecondition) return true;
  const auto& inputs = builder.graph().nodes[id].inputs;
  return std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) {
    if (input == kNone) return false;
    const graph::Value& value = builder.graph().values[input];
    const bool integer = value.type.dtype == DType::kInt64 || value.type.dtype == DType::kInt32;
    return !value.type.ranked || (integer && value.type.rank() <= 1 && value.constant == kNone);
  });
}

using Which = FunctionRef<bool(const GraphBuilder&, NodeId)>;

constexpr auto kWithoutKernel = [](const GraphBuilder& builder, NodeId id) {
  return DefOf(builder, id).is_composed(builder.graph(), builder.graph().nodes[id]);
};

Result<Composition> Compose(Allocator& allocator, const ops::OpRegistry& registry,
                            graph::Module module, bool may_wait, Which which) {
  GraphBuilder builder(allocator, registry, std::move(module));
  bool any = false;
  // A composition may have composed operators of its own, which are appended.
  for (NodeId id = 0; id < builder.graph().nodes.size(); ++id) {
    if (!DefOf(builder, id).composed() || !which(builder, id)) continue;
    Status status = builder.AllOrNothing([&] { return ComposeNode(builder, id); });
    any |= status.ok();
    if (!status.ok() && !(may_wait && MayWait(builder, id, status))) return status;
  }
  return Composition{std::move(builder).Take(), any};
}

}  // namespace

Result<graph::Module> Composed(Allocator& allocator, const ops::OpRegistry& registry,
                               graph::Module module, bool all) {
  const auto which = [all](const GraphBuilder& builder, NodeId id) {
    return all || kWithoutKernel(builder, id);
  };
  HR_ASSIGN_OR_RETURN(auto&& out, Compose(allocator, registry, std::move(module), false, which));
  return std::move(out.module);
}

Result<Composition> ComposedWhereKnown(Allocator& allocator, const ops::OpRegistry& registry,
                                       graph::Module module) {
  return Compose(allocator, registry, std::move(module), true, kWithoutKernel);
}

Result<Composition> ComposedOf(Allocator& allocator, const ops::OpRegistry& registry,
                               graph::Module module,
                               FunctionRef<bool(const graph::Operator&)> which) {
  return Compose(allocator, registry, std::move(module), true,
                 [&](const GraphBuilder& builder, NodeId id) {
                   return which(builder.module().OperatorOf(builder.graph().nodes[id]));
                 });
}

}  // namespace hr::transform
