#include "runtime/transform/redivide.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/device/zeros.h"
#include "runtime/graph/shards.h"
#include "runtime/transform/infer_types.h"

namespace hr::transform {
namespace {

using graph::NodeId;

class Redivider {
 public:
  Redivider(Allocator& allocator, const ops::OpRegistry& registry, graph::Module module,
            std::string_view group, int64_t ranks)
      : allocator_(allocator),
        registry_(registry),
        module_(std::move(module)),
        group_(group),
        ranks_(ranks) {}

  Result<graph::Module> Run() {
    HR_RETURN_IF_ERROR(DivideVariables());
    DivideNodes();
    Status inferred = InferChanged();
    if (inferred.ok()) inferred = CheckOutputs();
    if (inferred.ok()) return std::move(module_);
    return std::move(inferred).WithContext(
        Cat("the graph cannot be divided among ", ranks_, " ranks; build it for these"));
  }

 private:
  Status DivideVariables() {
    HR_ASSIGN_OR_RETURN(auto shards, graph::ShardsOf(module_));
    std::erase_if(shards, [&](const graph::Shard& shard) { return shard.group != group_; });
    for (graph::Shard& shard : shards) {
      HR_ASSIGN_OR_RETURN(const int64_t elements, graph::ElementsOf(module_, shard));
      graph::Variable& variable = module_.variables[shard.variable];
      variable.dims = {graph::PartOf(elements, ranks_)};
      if (variable.initial_constant == graph::kNone) {
        return InvalidArgument("variable '", variable.name, "' does not begin as a constant");
      }
      HR_ASSIGN_OR_RETURN(module_.constants[variable.initial_constant],
                          MakeZeros(allocator_, variable.dtype, variable.dims));
      shard.ranks = ranks_;
      const auto [key, value] = graph::ShardMetadata(module_, shard);
      module_.metadata[key] = value;
      changed_variables_.push_back(shard.variable);
    }
    return {};
  }

  // Those that say how many ranks the group has.
  void DivideNodes() {
    changed_.assign(module_.main().nodes.size(), false);
    for (NodeId id = 0; id < changed_.size(); ++id) {
      graph::Node& node = module_.main().nodes[id];
      changed_[id] = TouchesChanged(node);
      if (module_.OperatorOf(node).domain != ops::kComm) continue;
      if (node.String("group", "") != group_ || node.Int("ranks", 0) == 0) continue;
      for (graph::Attribute& attribute : node.attributes) {
        if (attribute.name == "ranks") attribute.value = ranks_;
      }
      changed_[id] = true;
    }
  }

  bool TouchesChanged(const graph::Node& node) const {
    const auto uses = ops::VariablesOf(registry_, module_, node);
    return std::any_of(uses.begin(), uses.end(), [&](const ops::VariableUse& use) {
      return std::find(changed_variables_.begin(), changed_variables_.end(), use.variable) !=
             changed_variables_.end();
    });
  }

  // What follows from what has changed has other types, too.
  Status InferChanged() {
    graph::Graph& main = module_.main();
    graph::Marks retyped(main.values.size(), false);
    HR_ASSIGN_OR_RETURN(const auto order, graph::TopologicalOrder(main));
    for (NodeId id : order) {
      const graph::Node node = main.nodes[id];
      const bool follows = std::any_of(node.inputs.begin(), node.inputs.end(), [&](auto input) {
        return input != graph::kNone && retyped[input] != 0;
      });
      if (!follows && changed_[id] == 0) continue;
      std::vector<graph::ValueType> before;
      for (auto output : node.outputs) {
        before.push_back(output == graph::kNone ? graph::ValueType() : main.values[output].type);
      }
      HR_RETURN_IF_ERROR(InferNode(registry_, module_, main, id));
      for (size_t i = 0; i < before.size(); ++i) {
        const auto output = node.outputs[i];
        if (output != graph::kNone) retyped[output] = before[i] != main.values[output].type;
      }
    }
    retyped_ = std::move(retyped);
    return {};
  }

  // Programs know the outputs of signatures by their types.
  Status CheckOutputs() const {
    for (const graph::Signature& signature : module_.signatures) {
      for (const graph::Port& port : signature.outputs) {
        if (retyped_[port.value] == 0) continue;
        return InvalidArgument("output '", port.name, "' of '", signature.name,
                               "' would have another type");
      }
    }
    return {};
  }

  Allocator& allocator_;
  const ops::OpRegistry& registry_;
  graph::Module module_;
  const std::string_view group_;
  const int64_t ranks_;
  std::vector<int64_t> changed_variables_;
  graph::Marks changed_;  // nodes
  graph::Marks retyped_;  // values
};

}  // namespace

Result<graph::Module> Redivided(Allocator& allocator, const ops::OpRegistry& registry,
                                graph::Module module, std::string_view group, int64_t ranks) {
  return Redivider(allocator, registry, std::move(module), group, ranks).Run();
}

}  // namespace hr::transform
