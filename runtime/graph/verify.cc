#include <set>

#include "runtime/base/errors.h"
#include "runtime/graph/graph.h"

namespace hr::graph {
namespace {

constexpr size_t kMaxRank = 64;

Status CheckIndex(std::string_view what, uint64_t index, size_t count) {
  if (index < count) return {};
  return InvalidArgument(what, " ", index, " is out of range: there are ", count);
}

class GraphVerifier {
 public:
  GraphVerifier(const Module& module, const Graph& graph) : module_(module), graph_(graph) {}

  Status Run() {
    for (ValueId id = 0; id < graph_.values.size(); ++id) {
      HR_RETURN_IF_ERROR(CheckValue(id).WithContext(Cat("value #", id)));
    }
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      HR_RETURN_IF_ERROR(CheckNode(id).WithNode(graph_.nodes[id].name));
    }
    for (ValueId id : graph_.inputs) {
      HR_RETURN_IF_ERROR(CheckIndex("graph input: value", id, graph_.values.size()));
      const Value& value = graph_.values[id];
      if (value.producer != kNone || value.constant != kNone) {
        return InvalidArgument("graph input #", id, " is also a constant or a node's output");
      }
    }
    for (ValueId id : graph_.outputs) {
      HR_RETURN_IF_ERROR(CheckIndex("graph output: value", id, graph_.values.size()));
    }
    return TopologicalOrder(graph_).status().Clone();
  }

 private:
  Status CheckValue(ValueId id) const {
    const Value& value = graph_.values[id];
    if (value.type.dims.size() > kMaxRank) {
      return InvalidArgument("has rank ", value.type.dims.size(), ", the most is ", kMaxRank);
    }
    for (const Dim& dim : value.type.dims) {
      if (dim.size < kUnknownDim) return InvalidArgument("has a negative dimension ", dim.size);
      if (dim.symbol != kNone) {
        HR_RETURN_IF_ERROR(CheckIndex("symbol", dim.symbol, module_.symbols.size()));
      }
    }
    if (value.constant != kNone) {
      HR_RETURN_IF_ERROR(CheckIndex("constant", value.constant, module_.constants.size()));
      if (value.producer != kNone) return InvalidArgument("is a constant and a node's output");
      const Tensor& tensor = module_.constants[value.constant];
      if (!(value.type == ValueType::Tensor(tensor.dtype(), tensor.dims()))) {
        return InvalidArgument("is declared as ", TypeText(value.type, module_.symbols),
                               ", its constant is ", tensor.TypeText());
      }
    }
    if (value.producer == kNone) return {};
    HR_RETURN_IF_ERROR(CheckIndex("producer: node", value.producer, graph_.nodes.size()));
    const auto& outputs = graph_.nodes[value.producer].outputs;
    for (ValueId output : outputs) {
      if (output == id) return {};
    }
    return InvalidArgument("names node #", value.producer, " as its producer, which does not list it");
  }

  Status CheckNode(NodeId id) const {
    const Node& node = graph_.nodes[id];
    HR_RETURN_IF_ERROR(CheckIndex("operator", node.op, module_.operators.size()));
    for (ValueId input : node.inputs) {
      if (input == kNone) continue;
      HR_RETURN_IF_ERROR(CheckIndex("input: value", input, graph_.values.size()));
    }
    for (ValueId output : node.outputs) {
      if (output == kNone) continue;
      HR_RETURN_IF_ERROR(CheckIndex("output: value", output, graph_.values.size()));
      if (graph_.values[output].producer != id) {
        return InvalidArgument("value #", output, " is the output of two nodes");
      }
    }
    for (NodeId control : node.controls) {
      HR_RETURN_IF_ERROR(CheckIndex("control: node", control, graph_.nodes.size()));
    }
    for (const Attribute& attribute : node.attributes) {
      if (const auto* tensor = std::get_if<TensorIndex>(&attribute.value)) {
        HR_RETURN_IF_ERROR(CheckIndex("constant", tensor->index, module_.constants.size()));
      }
      if (const auto* body = std::get_if<GraphIndex>(&attribute.value)) {
        HR_RETURN_IF_ERROR(CheckIndex("graph", body->index, module_.graphs.size()));
        if (&module_.graphs[body->index] == &graph_) {
          return InvalidArgument("graph ", body->index, " contains itself");
        }
      }
    }
    return {};
  }

  const Module& module_;
  const Graph& graph_;
};

Status CheckVariable(const Module& module, const Variable& variable) {
  HR_RETURN_IF_ERROR(CheckedElementCount(variable.dims).status().Clone());
  if (!IsSupported(variable.dtype)) {
    return InvalidArgument("has unsupported type ", DTypeName(variable.dtype));
  }
  if (variable.initial_constant != kNone) {
    HR_RETURN_IF_ERROR(
        CheckIndex("initial value: constant", variable.initial_constant, module.constants.size()));
    const Tensor& tensor = module.constants[variable.initial_constant];
    if (tensor.dtype() != variable.dtype || tensor.dims() != variable.dims) {
      return InvalidArgument("is ", DTypeName(variable.dtype), ShapeText(variable.dims),
                             ", its initial value is ", tensor.TypeText());
    }
    return {};
  }
  HR_RETURN_IF_ERROR(CheckIndex("initial value: graph", variable.initial_graph, module.graphs.size()));
  const Graph& graph = module.graphs[variable.initial_graph];
  if (variable.initial_graph == 0 || graph.outputs.size() != 1 || !graph.inputs.empty()) {
    return InvalidArgument("has an initializer graph that is not one without inputs and with one output");
  }
  return {};
}

Status CheckSignature(const Module& module, const Signature& signature) {
  const Graph& graph = module.main();
  for (const auto* ports : {&signature.inputs, &signature.outputs}) {
    std::set<std::string_view> names;
    for (const Port& port : *ports) {
      HR_RETURN_IF_ERROR(CheckIndex("value", port.value, graph.values.size()));
      if (!names.insert(port.name).second) {
        return InvalidArgument("two inputs or two outputs are called '", port.name, "'");
      }
    }
  }
  for (NodeId target : signature.targets) {
    HR_RETURN_IF_ERROR(CheckIndex("target: node", target, graph.nodes.size()));
  }
  return {};
}

// Subgraphs nest without recursion.
Status CheckNesting(const Module& module) {
  std::vector<int> state(module.graphs.size(), 0);  // 1: open, 2: done
  std::vector<std::pair<uint32_t, size_t>> stack;
  auto bodies = [&](uint32_t index) {
    std::vector<uint32_t> out;
    for (const Node& node : module.graphs[index].nodes) {
      for (const Attribute& attribute : node.attributes) {
        if (const auto* body = std::get_if<GraphIndex>(&attribute.value)) out.push_back(body->index);
      }
    }
    return out;
  };
  for (uint32_t root = 0; root < module.graphs.size(); ++root) {
    if (state[root] != 0) continue;
    stack.push_back({root, 0});
    std::vector<std::vector<uint32_t>> children{bodies(root)};
    state[root] = 1;
    while (!stack.empty()) {
      auto& [index, next] = stack.back();
      if (next == children.back().size()) {
        state[index] = 2;
        stack.pop_back();
        children.pop_back();
        continue;
      }
      uint32_t child = children.back()[next++];
      if (state[child] == 1) return InvalidArgument("graph ", child, " contains itself");
      if (state[child] == 2) continue;
      state[child] = 1;
      stack.push_back({child, 0});
      children.push_back(bodies(child));
    }
  }
  return {};
}

template <typename Items>
Status CheckUniqueNames(std::string_view what, const Items& items) {
  std::set<std::string_view> names;
  for (const auto& item : items) {
    if (item.name.empty()) return InvalidArgument("a ", what, " has no name");
    if (!names.insert(item.name).second) {
      return InvalidArgument("two ", what, "s are called '", item.name, "'");
    }
  }
  return {};
}

}  // namespace

Status Verify(const Module& module) {
  if (module.graphs.empty()) return InvalidArgument("there is no main graph");
  HR_RETURN_IF_ERROR(CheckUniqueNames("variable", module.variables));
  HR_RETURN_IF_ERROR(CheckUniqueNames("signature", module.signatures));
  for (size_t i = 0; i < module.graphs.size(); ++i) {
    HR_RETURN_IF_ERROR(GraphVerifier(module, module.graphs[i]).Run().WithContext(Cat("graph ", i)));
  }
  HR_RETURN_IF_ERROR(CheckNesting(module));
  for (const Variable& variable : module.variables) {
    HR_RETURN_IF_ERROR(
        CheckVariable(module, variable).WithContext(Cat("variable '", variable.name, "'")));
  }
  for (const Signature& signature : module.signatures) {
    HR_RETURN_IF_ERROR(
        CheckSignature(module, signature).WithContext(Cat("signature '", signature.name, "'")));
  }
  return {};
}

}  // namespace hr::graph
