// Bodies of If, Loop, Scan and Call under construction.
#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/ops/control.h"
#include "runtime/transform/graph_builder.h"

namespace hr::transform {

uint32_t GraphBuilder::BeginBody() {
  module_.graphs.emplace_back();
  return std::exchange(current_, static_cast<uint32_t>(module_.graphs.size() - 1));
}

void GraphBuilder::EndBody(uint32_t outer, std::vector<ValueId> outputs) {
  current().outputs = std::move(outputs);
  current_ = outer;
}

void GraphBuilder::SetAttributes(NodeId node, std::vector<graph::Attribute> attributes) {
  NoteReplaced(node);
  current().nodes[node].attributes = std::move(attributes);
}

namespace {

// Puts the parts of one module into another.
class Importer {
 public:
  Importer(graph::Module& to, const graph::Module& from)
      : first_constant_(to.constants.size()), first_graph_(to.graphs.size()) {
    for (const graph::Operator& op : from.operators) {
      operators_.push_back(to.InternOperator(op.domain, op.name, op.version));
    }
  }
  std::vector<uint32_t>& symbols() { return symbols_; }

  // Bodies stand behind the main graph in both modules.
  void Map(graph::Graph& graph) const {
    for (graph::Value& value : graph.values) {
      if (value.constant != kNone) value.constant += static_cast<uint32_t>(first_constant_);
      for (graph::Dim& dim : value.type.dims) {
        if (dim.symbol != kNone) dim.symbol = symbols_[dim.symbol];
      }
    }
    for (graph::Node& node : graph.nodes) {
      node.op = operators_[node.op];
      for (graph::Attribute& attribute : node.attributes) {
        if (auto* tensor = std::get_if<graph::TensorIndex>(&attribute.value))
          tensor->index += static_cast<uint32_t>(first_constant_);
        if (auto* body = std::get_if<graph::GraphIndex>(&attribute.value))
          body->index += static_cast<uint32_t>(first_graph_);
      }
    }
  }

 private:
  const size_t first_constant_, first_graph_;
  std::vector<uint32_t> operators_, symbols_;
};

}  // namespace

Result<uint32_t> GraphBuilder::AddBody(graph::Module part) {
  graph::Graph& main = part.main();
  const graph::Signature& signature = part.signatures[0];
  if (!signature.targets.empty()) {
    return Unimplemented("a body gives values and has no targets, signature '", signature.name,
                         "' has ", signature.targets.size(),
                         "; give the values to the graph around it and assign them there");
  }
  main.inputs.clear();
  for (const graph::Port& port : signature.inputs) main.inputs.push_back(port.value);
  for (const graph::Port& port : signature.outputs) main.outputs.push_back(port.value);
  const auto index = static_cast<uint32_t>(module_.graphs.size());
  Importer importer(module_, part);
  for (const graph::Symbol& symbol : part.symbols) {
    importer.symbols().push_back(AddSymbol(symbol.name));
  }
  for (graph::Graph& graph : part.graphs) {
    importer.Map(graph);
    for (graph::Node& node : graph.nodes) {
      for (graph::Attribute& attribute : node.attributes) {
        if (attribute.name == "stream") attribute.value = next_stream_++;
      }
    }
    module_.graphs.push_back(std::move(graph));
  }
  module_.constants.insert(module_.constants.end(), part.constants.begin(), part.constants.end());
  if (Status status = ops::CheckBody(*registry_, module_, index); !status.ok()) {
    module_.graphs.resize(index);
    return status;
  }
  return index;
}

namespace {

constexpr size_t kMostNodes = 1 << 18;

// Another stream for each place where a body stands: the same in every plan.
int64_t Salted(int64_t stream, int64_t salt) {
  const uint64_t mixed = (static_cast<uint64_t>(stream) + 1) * 0x9E3779B97F4A7C15u ^
                         static_cast<uint64_t>(salt) * 0xD1B54A32D192ED03u;
  return static_cast<int64_t>(mixed >> 2);
}

}  // namespace

Result<std::vector<ValueId>> GraphBuilder::EmitBody(uint32_t index,
                                                    std::span<const ValueId> arguments,
                                                    int64_t salt) {
  const graph::Graph body = module_.graphs[index];  // a copy: the module grows
  if (arguments.size() != body.inputs.size()) {
    return InvalidArgument("a body takes ", body.inputs.size(), " values, it is given ",
                           arguments.size());
  }
  // Bodies within bodies may double with each level.
  if (current().nodes.size() + body.nodes.size() > kMostNodes) {
    return ResourceExhausted("bodies in the place of their calls make more than ", kMostNodes,
                             " nodes; call fewer of them, or loop");
  }
  std::vector<ValueId> values(body.values.size(), kNone);
  for (size_t i = 0; i < body.inputs.size(); ++i) values[body.inputs[i]] = arguments[i];
  const auto value_of = [&](ValueId id) -> Result<ValueId> {
    if (id == kNone || values[id] != kNone) return id == kNone ? kNone : values[id];
    const uint32_t constant = body.values[id].constant;
    if (constant == kNone) {
      return InvalidArgument("a body uses '", graph::ValueText(body, id), "', which nothing gives");
    }
    HR_ASSIGN_OR_RETURN(values[id], Constant(module_.constants[constant]));
    return values[id];
  };
  HR_ASSIGN_OR_RETURN(auto&& order, graph::TopologicalOrder(body));
  for (NodeId id : order) {
    const graph::Node& node = body.nodes[id];
    const graph::Operator op = module_.OperatorOf(node);
    NodeSpec spec{.domain = op.domain,
                  .op = op.name,
                  .version = op.version,
                  .outputs = node.outputs.size(),
                  .attributes = node.attributes,
                  .name = UniqueName(node.name.empty() ? op.name : node.name),
                  .device = node.device};
    for (ValueId input : node.inputs) {
      HR_ASSIGN_OR_RETURN(ValueId mapped, value_of(input));
      spec.inputs.push_back(mapped);
    }
    while (spec.outputs > 0 && node.outputs[spec.outputs - 1] == kNone) --spec.outputs;
    for (graph::Attribute& attribute : spec.attributes) {
      if (salt == 0 || attribute.name != "stream") continue;
      attribute.value = Salted(std::get<int64_t>(attribute.value), salt);
    }
    HR_ASSIGN_OR_RETURN(NodeId made, AddNode(std::move(spec)));
    const auto& outputs = current().nodes[made].outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (node.outputs[i] != kNone) values[node.outputs[i]] = outputs[i];
    }
  }
  std::vector<ValueId> out;
  for (ValueId output : body.outputs) {
    HR_ASSIGN_OR_RETURN(ValueId mapped, value_of(output));
    out.push_back(mapped);
  }
  return out;
}

}  // namespace hr::transform
