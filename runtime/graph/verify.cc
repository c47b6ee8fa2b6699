#include <algorithm>
#include <set>

#include "runtime/base/errors.h"
#include "runtime/base/function_ref.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/verify_names.h"

namespace hr::graph {
namespace {

constexpr size_t kMaxRank = 64;
// Bodies within bodies; so that passes may recurse over them.
constexpr size_t kMaxNesting = 64;

Status CheckIndex(Literal what, uint64_t index, size_t count) {
  if (index < count) return {};
  return InvalidArgument(what, " ", index, " is out of range: there are ", count);
}

// Says where a failure happened: "value 7: …".
Status In(Status status, Literal what, const auto& which) {
  if (status.ok()) return status;
  return std::move(status).WithContext(Cat(what, " ", which));
}

Status CheckSymbol(const Symbol& symbol) {
  if (symbol.min < 0 || symbol.max < kUnknownDim ||
      (symbol.max != kUnknownDim && symbol.max < symbol.min)) {
    return InvalidArgument("has bounds ", symbol.min, " to ", symbol.max);
  }
  int64_t previous = 0;
  for (int64_t bucket : symbol.buckets) {
    if (bucket <= previous) return InvalidArgument("has buckets that do not ascend from 1");
    previous = bucket;
  }
  return {};
}

class GraphVerifier {
 public:
  GraphVerifier(const Module& module, const Graph& graph) : module_(module), graph_(graph) {}

  Status Run() {
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      Status status = CheckNode(id);
      if (status.ok()) continue;
      const std::string& name = graph_.nodes[id].name;
      return std::move(status).WithNode(name.empty() ? Cat("#", id) : name);
    }
    for (ValueId id = 0; id < graph_.values.size(); ++id) {
      HR_RETURN_IF_ERROR(In(CheckValue(id), "value", id));
    }
    HR_RETURN_IF_ERROR(CheckInputs());
    for (ValueId id : graph_.outputs) {
      HR_RETURN_IF_ERROR(CheckIndex("graph output: value", id, graph_.values.size()));
    }
    return TopologicalOrder(graph_).status().Clone();
  }

 private:
  Status CheckNode(NodeId id) {
    const Node& node = graph_.nodes[id];
    HR_RETURN_IF_ERROR(CheckIndex("operator", node.op, module_.operators.size()));
    for (ValueId input : node.inputs) {
      if (input == kNone) continue;
      HR_RETURN_IF_ERROR(CheckIndex("input: value", input, graph_.values.size()));
    }
    for (ValueId output : node.outputs) {
      if (output == kNone) continue;
      HR_RETURN_IF_ERROR(CheckIndex("output: value", output, graph_.values.size()));
      if (graph_.values[output].producer != id || produced_[output]) {
        return InvalidArgument("value #", output, " is an output twice, or of another node, too");
      }
      produced_[output] = true;
    }
    for (NodeId control : node.controls) {
      HR_RETURN_IF_ERROR(CheckIndex("control: node", control, graph_.nodes.size()));
    }
    for (const Attribute& attribute : node.attributes) {
      HR_RETURN_IF_ERROR(In(CheckAttribute(attribute.value), "attribute", attribute.name));
    }
    return {};
  }

  Status CheckAttribute(const AttributeValue& value) const {
    if (const auto* tensor = std::get_if<TensorIndex>(&value)) {
      return CheckIndex("constant", tensor->index, module_.constants.size());
    }
    if (const auto* body = std::get_if<GraphIndex>(&value)) {
      return CheckIndex("graph", body->index, module_.graphs.size());
    }
    return {};
  }

  Status CheckType(const ValueType& type) const {
    if (type.dims.size() > kMaxRank) {
      return InvalidArgument("has rank ", type.dims.size(), ", the most is ", kMaxRank);
    }
    if (!type.ranked && !type.dims.empty()) return InvalidArgument("has dimensions, but no rank");
    for (const Dim& dim : type.dims) {
      if (dim.size < kUnknownDim) return InvalidArgument("has a negative dimension ", dim.size);
      if (dim.symbol == kNone) continue;
      if (dim.fixed()) return InvalidArgument("has a dimension with a size and a symbol");
      HR_RETURN_IF_ERROR(CheckIndex("symbol", dim.symbol, module_.symbols.size()));
    }
    return {};
  }

  // After the nodes, which say what they produce.
  Status CheckValue(ValueId id) const {
    const Value& value = graph_.values[id];
    HR_RETURN_IF_ERROR(CheckType(value.type));
    if (value.producer != kNone && !produced_[id]) {
      return InvalidArgument("names node #", value.producer,
                             " as its producer, which does not list it");
    }
    if (value.constant == kNone) return {};
    HR_RETURN_IF_ERROR(CheckIndex("constant", value.constant, module_.constants.size()));
    if (value.producer != kNone) return InvalidArgument("is a constant and a node's output");
    const Tensor& tensor = module_.constants[value.constant];
    if (value.type == ValueType::Tensor(tensor.dtype(), tensor.dims())) return {};
    return InvalidArgument("is declared as ", TypeText(value.type, module_.symbols),
                           ", its constant is ", tensor.TypeText());
  }

  Status CheckInputs() const {
    Marks seen(graph_.values.size(), false);
    for (ValueId id : graph_.inputs) {
      HR_RETURN_IF_ERROR(CheckIndex("graph input: value", id, graph_.values.size()));
      const Value& value = graph_.values[id];
      if (value.producer != kNone || value.constant != kNone) {
        return InvalidArgument("graph input #", id, " is also a constant or a node's output");
      }
      if (seen[id]) return InvalidArgument("value #", id, " is a graph input twice");
      seen[id] = true;
    }
    return {};
  }

  const Module& module_;
  const Graph& graph_;
  Marks produced_ = Marks(graph_.values.size(), false);
};

Status CheckVariable(const Module& module, const Variable& variable, bool is_region) {
  if (!IsSupported(variable.dtype)) {
    return InvalidArgument("has unsupported type ", DTypeName(variable.dtype));
  }
  HR_RETURN_IF_ERROR(CheckedTensorBytes(variable.dtype, variable.dims).status().Clone());
  if (variable.initial_constant != kNone) {
    HR_RETURN_IF_ERROR(
        CheckIndex("initial value: constant", variable.initial_constant, module.constants.size()));
    const Tensor& tensor = module.constants[variable.initial_constant];
    if (tensor.dtype() != variable.dtype || tensor.dims() != variable.dims) {
      return InvalidArgument("is ", DTypeName(variable.dtype), variable.dims,
                             ", its initial value is ", tensor.TypeText());
    }
    return {};
  }
  if (is_region && variable.initial_graph == kNone) return {};
  HR_RETURN_IF_ERROR(
      CheckIndex("initial value: graph", variable.initial_graph, module.graphs.size()));
  const Graph& graph = module.graphs[variable.initial_graph];
  if (variable.initial_graph == 0 || graph.outputs.size() != 1 || !graph.inputs.empty()) {
    return InvalidArgument("has an initializer graph that has inputs, or not exactly one output");
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

std::vector<uint32_t> BodiesIn(const Graph& graph) {
  std::vector<uint32_t> out;
  for (const Node& node : graph.nodes) {
    for (const Attribute& attribute : node.attributes) {
      if (const auto* body = std::get_if<GraphIndex>(&attribute.value)) out.push_back(body->index);
    }
  }
  return out;
}

// Bodies nest without recursion and not too deep: a depth-first walk over all graphs, each once.
class NestingVerifier {
 public:
  explicit NestingVerifier(const Module& module)
      : module_(module), height_(module.graphs.size(), kUnseen) {}

  Status Run() {
    for (uint32_t root = 0; root < height_.size(); ++root) {
      if (height_[root] == kUnseen) Open(root);
      while (!stack_.empty()) HR_RETURN_IF_ERROR(Step());
    }
    return {};
  }

 private:
  static constexpr size_t kUnseen = SIZE_MAX;
  static constexpr size_t kOpen = SIZE_MAX - 1;
  struct Frame {
    uint32_t graph;
    std::vector<uint32_t> bodies;  // those still to visit
    size_t height = 0;             // of the highest body so far
  };

  void Open(uint32_t graph) {
    height_[graph] = kOpen;
    stack_.push_back({graph, BodiesIn(module_.graphs[graph])});
  }

  Status Step() {
    Frame& top = stack_.back();
    if (top.bodies.empty()) {
      height_[top.graph] = top.height;
      stack_.pop_back();
      return {};
    }
    uint32_t body = top.bodies.back();
    if (height_[body] == kOpen) return InvalidArgument("graph ", body, " contains itself");
    if (height_[body] == kUnseen) {
      Open(body);
      return {};
    }
    top.bodies.pop_back();
    top.height = std::max(top.height, height_[body] + 1);
    if (top.height <= kMaxNesting) return {};
    return InvalidArgument("graph ", top.graph, " nests more than ", kMaxNesting, " deep");
  }

  const Module& module_;
  std::vector<size_t> height_;
  std::vector<Frame> stack_;
};

// `name_of(i)` is the name of item i.
Status CheckUniqueNames(Literal what, size_t count,
                        FunctionRef<const std::string&(size_t)> name_of) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < count; ++i) {
    const std::string& name = name_of(i);
    if (name.empty()) return InvalidArgument("a ", what, " has no name");
    if (!names.insert(name).second) {
      return InvalidArgument("two ", what, "s are called '", name, "'");
    }
  }
  return {};
}

}  // namespace

Status Verify(const Module& module, bool is_region) {
  if (module.graphs.empty()) return InvalidArgument("there is no main graph");
  HR_RETURN_IF_ERROR(VerifyNames(module));
  HR_RETURN_IF_ERROR(
      CheckUniqueNames("variable", module.variables.size(),
                       [&](size_t i) -> const std::string& { return module.variables[i].name; }));
  HR_RETURN_IF_ERROR(
      CheckUniqueNames("signature", module.signatures.size(),
                       [&](size_t i) -> const std::string& { return module.signatures[i].name; }));
  for (size_t i = 0; i < module.symbols.size(); ++i) {
    HR_RETURN_IF_ERROR(In(CheckSymbol(module.symbols[i]), "symbol", i));
  }
  for (size_t i = 0; i < module.graphs.size(); ++i) {
    HR_RETURN_IF_ERROR(In(GraphVerifier(module, module.graphs[i]).Run(), "graph", i));
  }
  HR_RETURN_IF_ERROR(NestingVerifier(module).Run());
  for (const Variable& variable : module.variables) {
    HR_RETURN_IF_ERROR(In(CheckVariable(module, variable, is_region), "variable", variable.name));
  }
  for (const Signature& signature : module.signatures) {
    HR_RETURN_IF_ERROR(In(CheckSignature(module, signature), "signature", signature.name));
  }
  return {};
}

}  // namespace hr::graph
