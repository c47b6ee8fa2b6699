#include "runtime/transform/copy_signature.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/graph/unknown_name.h"
#include "runtime/transform/specialize.h"

namespace hr::transform {
namespace {

class Copier {
 public:
  Copier(GraphBuilder& builder, std::span<const uint32_t> instead)
      : builder_(builder), instead_(instead) {
    for (ValueId id = 0; id < builder.graph().values.size(); ++id) values_.push_back(id);
    nodes_.assign(builder.graph().nodes.size(), kNone);
  }

  Status Run(const graph::Signature& from, std::string_view to) {
    const graph::Graph& graph = builder_.graph();
    const auto needed = NodesOfSignature(graph, from);
    HR_ASSIGN_OR_RETURN(const auto order, graph::TopologicalOrder(graph));
    std::string outer = builder_.SetScope(std::string(to));
    for (NodeId id : order) {
      if (needed[id]) HR_RETURN_IF_ERROR(Copy(id));
    }
    builder_.SetScope(std::move(outer));
    graph::Signature copy{.name = std::string(to), .inputs = from.inputs};
    for (const graph::Port& port : from.outputs)
      copy.outputs.push_back({port.name, values_[port.value]});
    for (NodeId target : from.targets) copy.targets.push_back(nodes_[target]);
    return builder_.AddSignature(std::move(copy));
  }

 private:
  Status CheckEffects(NodeId id) const {
    const graph::Node& node = builder_.graph().nodes[id];
    for (const auto& use : ops::VariablesOf(builder_.registry(), builder_.module(), node)) {
      if (!use.writes) continue;
      return FailedPrecondition("'", graph::NodeText(builder_.module(), builder_.graph(), id),
                                "' changes variable '",
                                builder_.module().variables[use.variable].name,
                                "'; only a signature that changes none can be copied");
    }
    return {};
  }

  // The variable in whose place another one is read, or kNone.
  uint32_t Instead(const graph::Node& node) const {
    const graph::Operator& op = builder_.module().OperatorOf(node);
    if (op.domain != ops::kState || op.name != "Read") return kNone;
    const auto variable = static_cast<size_t>(node.Int("variable", 0));
    return variable < instead_.size() ? instead_[variable] : kNone;
  }

  Status Copy(NodeId id) {
    HR_RETURN_IF_ERROR(CheckEffects(id));
    const graph::Node node = builder_.graph().nodes[id];
    if (const uint32_t other = Instead(node); other != kNone) {
      HR_ASSIGN_OR_RETURN(values_[node.outputs[0]], builder_.ReadAtStart(other));
      nodes_[id] = builder_.graph().values[values_[node.outputs[0]]].producer;
      return {};
    }
    const graph::Operator op = builder_.module().OperatorOf(node);
    NodeSpec spec{.domain = op.domain,
                  .op = op.name,
                  .version = op.version,
                  .inputs = node.inputs,
                  .outputs = node.outputs.size(),
                  .attributes = node.attributes,
                  .chained = false,
                  .name = node.name.empty() ? "" : builder_.UniqueName(node.name),
                  .device = node.device};
    for (ValueId& input : spec.inputs) input = input == kNone ? kNone : values_[input];
    for (NodeId control : node.controls) spec.controls.push_back(nodes_[control]);
    HR_ASSIGN_OR_RETURN(nodes_[id], builder_.AddNode(std::move(spec)));
    const auto& outputs = builder_.graph().nodes[nodes_[id]].outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (node.outputs[i] != kNone) values_[node.outputs[i]] = outputs[i];
    }
    return {};
  }

  GraphBuilder& builder_;
  const std::span<const uint32_t> instead_;
  std::vector<ValueId> values_;  // what takes the place of each
  std::vector<NodeId> nodes_;
};

}  // namespace

Status CopySignature(GraphBuilder& builder, std::string_view from, std::string_view to,
                     std::span<const uint32_t> instead) {
  const graph::Module& module = builder.module();
  const graph::Signature* found = module.FindSignature(from);
  if (found == nullptr)
    return graph::UnknownName("graph", "signature", from, graph::NamesOf(module.signatures));
  const graph::Signature copied = *found;
  return builder.AllOrNothing([&] { return Copier(builder, instead).Run(copied, to); });
}

Status KeepToSignature(GraphBuilder& builder, std::string_view signature,
                       std::span<const NodeId> nodes) {
  const std::vector<graph::Signature> all = builder.module().signatures;
  return builder.AllOrNothing([&]() -> Status {
    for (const graph::Signature& other : all) {
      const auto needed = NodesOfSignature(builder.graph(), other);
      const bool shares =
          std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) { return needed[id] != 0; });
      if (other.name == signature || !shares) continue;
      HR_RETURN_IF_ERROR(builder.RemoveSignature(other.name));
      HR_RETURN_IF_ERROR(Copier(builder, {}).Run(other, other.name));
    }
    return Status();
  });
}

}  // namespace hr::transform
