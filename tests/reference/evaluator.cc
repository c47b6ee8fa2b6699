#include "tests/reference/evaluator.h"

#include <set>

#include "runtime/base/errors.h"
#include "tests/reference/functions.h"

namespace hr::reference {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

Function Find(std::string_view domain, std::string_view name) {
  for (auto family : {BitFunctions(),
                      ControlFunctions(),
                      ConvolutionFunctions(),
                      EinsumFunctions(),
                      ElementwiseFunctions(),
                      FourierFunctions(),
                      GenerateFunctions(),
                      IndexingFunctions(),
                      LinearAttentionFunctions(),
                      MatrixFunctions(),
                      MlFunctions(),
                      MovementFunctions(),
                      NGramFunctions(),
                      NormalizationFunctions(),
                      OptimizerFunctions(),
                      PoolFunctions(),
                      RandomFunctions(),
                      RecurrentFunctions(),
                      ReductionFunctions(),
                      RegionFunctions(),
                      ResizeFunctions(),
                      SelectionFunctions(),
                      SequenceFunctions(),
                      SoftmaxFunctions(),
                      UnfoldFunctions()}) {
    for (const Entry& entry : family) {
      if (entry.domain == domain && entry.name == name) return entry.function;
    }
  }
  return nullptr;
}

// One run of one graph.
class GraphRun {
 public:
  GraphRun(const graph::Module& module, const graph::Graph& graph, std::vector<Array>& variables)
      : module_(module), graph_(graph), variables_(variables), at_start_(variables) {}

  Result<std::vector<Array>> Run(const std::map<ValueId, Array>& feeds,
                                 std::span<const ValueId> fetches,
                                 std::span<const NodeId> targets) {
    values_ = feeds;
    for (ValueId fetch : fetches) Need(fetch);
    for (NodeId target : targets) NeedNode(target);
    HR_ASSIGN_OR_RETURN(auto order, graph::TopologicalOrder(graph_));
    for (NodeId id : order) {
      if (needed_.count(id) == 0) continue;
      HR_RETURN_IF_ERROR(RunNode(id).WithNode(graph::NodeText(module_, graph_, id)));
    }
    std::vector<Array> out;
    for (ValueId fetch : fetches) {
      const Array* value = Value(fetch);
      if (value == nullptr) return InvalidArgument("value #", fetch, " was not fed");
      out.push_back(*value);
    }
    return out;
  }

 private:
  void Need(ValueId value) {
    if (value == kNone || values_.count(value) != 0) return;
    if (graph_.values[value].producer != kNone) NeedNode(graph_.values[value].producer);
  }

  void NeedNode(NodeId id) {
    if (!needed_.insert(id).second) return;
    for (ValueId input : graph_.nodes[id].inputs) Need(input);
    for (NodeId control : graph_.nodes[id].controls) NeedNode(control);
  }

  // Null where it is omitted or was not fed.
  const Array* Value(ValueId id) {
    if (id == kNone) return nullptr;
    auto found = values_.find(id);
    if (found != values_.end()) return &found->second;
    uint32_t constant = graph_.values[id].constant;
    if (constant == kNone) return nullptr;
    return &(values_[id] = FromTensor(module_.constants[constant]));
  }

  Status RunNode(NodeId id) {
    const graph::Node& node = graph_.nodes[id];
    std::vector<const Array*> inputs;
    for (ValueId input : node.inputs) {
      inputs.push_back(Value(input));
      if (input != kNone && inputs.back() == nullptr) {
        return InvalidArgument("input '", graph::ValueText(graph_, input), "' was not fed");
      }
    }
    bool early = module_.OperatorOf(node).name == "Read" && node.controls.empty();
    HR_ASSIGN_OR_RETURN(auto outputs,
                        EvaluateNode(module_, node, inputs, early ? at_start_ : variables_));
    for (size_t i = 0; i < outputs.size(); ++i) {
      // A value that was fed stays.
      if (node.outputs[i] != kNone) values_.try_emplace(node.outputs[i], std::move(outputs[i]));
    }
    return {};
  }

  const graph::Module& module_;
  const graph::Graph& graph_;
  std::vector<Array>& variables_;
  std::vector<Array> at_start_;
  std::map<ValueId, Array> values_;
  std::set<NodeId> needed_;
};

}  // namespace

Evaluator::Evaluator(const graph::Module& module) : module_(module) {
  for (const graph::Variable& variable : module.variables) {
    if (variable.initial_constant != kNone) {
      variables_.push_back(FromTensor(module.constants[variable.initial_constant]));
      continue;
    }
    const graph::Graph& graph = module.graphs[variable.initial_graph];
    std::vector<Array> none;
    auto initial = GraphRun(module, graph, none).Run({}, graph.outputs, {});
    variables_.push_back(initial.ok() ? (*initial)[0] : Array(variable.dtype, variable.dims));
  }
}

Result<std::vector<Array>> Evaluator::Run(const std::map<ValueId, Array>& feeds,
                                          std::span<const ValueId> fetches,
                                          std::span<const NodeId> targets) {
  return GraphRun(module_, module_.main(), variables_).Run(feeds, fetches, targets);
}

Result<std::vector<Array>> EvaluateBody(const graph::Module& module, uint32_t body,
                                        std::span<const Array> inputs) {
  const graph::Graph& graph = module.graphs[body];
  std::map<ValueId, Array> feeds;
  for (size_t i = 0; i < graph.inputs.size(); ++i) feeds[graph.inputs[i]] = inputs[i];
  std::vector<Array> none;
  return GraphRun(module, graph, none).Run(feeds, graph.outputs, {});
}

Result<std::vector<Array>> EvaluateNode(const graph::Module& module, const graph::Node& node,
                                        std::vector<const Array*> inputs,
                                        std::vector<Array>& variables) {
  const graph::Operator& op = module.OperatorOf(node);
  Function function = Find(op.domain, op.name);
  if (function == nullptr) return Unimplemented("the reference has no operator ", op.name);
  Call call{module, node, op.name, op.version, std::move(inputs), {}, variables};
  call.outputs.resize(node.outputs.size());
  try {
    function(call);
  } catch (const std::exception& error) {
    return InvalidArgument(op.name, ": ", error.what());
  }
  return std::move(call.outputs);
}

bool Knows(std::string_view domain, std::string_view name) { return Find(domain, name) != nullptr; }

}  // namespace hr::reference
