#include "runtime/transform/keep_signatures.h"

#include <algorithm>

#include "runtime/base/errors.h"

namespace hr::transform {
namespace {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

// Gives new numbers in the order in which the old ones are first asked for; Sort puts them into the
// order of the old ones.
class Renumbering {
 public:
  explicit Renumbering(size_t count) : to_(count, kNone) {}
  uint32_t operator()(uint32_t old) {
    if (old == kNone) return kNone;
    if (to_[old] == kNone) {
      to_[old] = static_cast<uint32_t>(kept_.size());
      kept_.push_back(old);
    }
    return to_[old];
  }
  // Gives those met so far new numbers in the order of the old ones.
  void Sort() {
    std::sort(kept_.begin(), kept_.end());
    for (uint32_t i = 0; i < kept_.size(); ++i) to_[kept_[i]] = i;
  }
  bool Has(uint32_t old) const { return old != kNone && to_[old] != kNone; }
  const std::vector<uint32_t>& kept() const { return kept_; }

 private:
  std::vector<uint32_t> to_;
  std::vector<uint32_t> kept_;
};

class Keeper {
 public:
  Keeper(const ops::OpRegistry& registry, const graph::Module& from)
      : registry_(registry),
        from_(from),
        to_{.producer = from.producer,
            .opsets = from.opsets,
            .metadata = from.metadata,
            .operators = from.operators,
            .symbols = from.symbols},
        nodes_(from.main().nodes.size()),
        values_(from.main().values.size()),
        constants_(from.constants.size()),
        variables_(from.variables.size()),
        bodies_(from.graphs.size()) {
    bodies_(0);  // the main graph
  }

  graph::Module Run(const std::vector<const graph::Signature*>& signatures) {
    for (const graph::Signature* signature : signatures) {
      for (const graph::Port& port : signature->inputs) values_(port.value);
      for (const graph::Port& port : signature->outputs) Need(port.value);
      for (NodeId target : signature->targets) nodes_(target);
    }
    // Nodes found on the way are appended to the list that is walked.
    for (size_t i = 0; i < nodes_.kept().size(); ++i) Visit(nodes_.kept()[i]);
    nodes_.Sort();
    values_.Sort();
    for (const graph::Signature* signature : signatures)
      to_.signatures.push_back(Mapped(*signature));
    CopyGraph();
    CopyBodies();
    CopyVariables();
    CopyBodies();  // of initializers
    for (uint32_t index : constants_.kept()) to_.constants.push_back(from_.constants[index]);
    return std::move(to_);
  }

 private:
  void Need(ValueId value) {
    if (value == kNone) return;
    values_(value);
    NodeId producer = from_.main().values[value].producer;
    if (producer != kNone) nodes_(producer);
  }

  void Visit(NodeId id) {
    const graph::Node& node = from_.main().nodes[id];
    for (ValueId input : node.inputs) Need(input);
    for (ValueId output : node.outputs) values_(output);
    for (NodeId control : node.controls) nodes_(control);
  }

  graph::Signature Mapped(const graph::Signature& signature) {
    graph::Signature out = signature;
    for (graph::Port& port : out.inputs) port.value = values_(port.value);
    for (graph::Port& port : out.outputs) port.value = values_(port.value);
    for (NodeId& target : out.targets) target = nodes_(target);
    return out;
  }

  void CopyGraph() {
    graph::Graph& graph = to_.main();
    for (ValueId old : values_.kept()) {
      graph::Value value = from_.main().values[old];
      value.producer = nodes_.Has(value.producer) ? nodes_(value.producer) : kNone;
      value.constant = constants_(value.constant);
      graph.values.push_back(std::move(value));
    }
    for (ValueId input : from_.main().inputs) {
      if (values_.Has(input)) graph.inputs.push_back(values_(input));
    }
    for (NodeId old : nodes_.kept()) graph.nodes.push_back(MappedNode(from_.main().nodes[old]));
  }

  graph::Node MappedNode(graph::Node node) {
    for (ValueId& input : node.inputs) input = values_(input);
    for (ValueId& output : node.outputs) output = values_(output);
    for (NodeId& control : node.controls) control = nodes_(control);
    MapAttributes(node);
    return node;
  }

  void MapAttributes(graph::Node& node) {
    const graph::Operator& op = from_.OperatorOf(node);
    const ops::OpDef* def = registry_.Find(op.domain, op.name, op.version);
    for (graph::Attribute& attribute : node.attributes) {
      if (auto* tensor = std::get_if<graph::TensorIndex>(&attribute.value))
        tensor->index = constants_(tensor->index);
      if (auto* body = std::get_if<graph::GraphIndex>(&attribute.value))
        body->index = bodies_(body->index);
      if (def != nullptr && IsVariable(*def, attribute.name)) {
        auto& index = std::get<int64_t>(attribute.value);
        index = variables_(static_cast<uint32_t>(index));
      }
    }
  }

  static bool IsVariable(const ops::OpDef& def, std::string_view attribute) {
    return std::any_of(def.attributes.begin(), def.attributes.end(),
                       [&](const ops::AttributeDef& known) {
                         return known.name == attribute && known.effect &&
                                known.effect.kind == ops::ResourceKind::kVariable;
                       });
  }

  void CopyVariables() {
    for (uint32_t old : variables_.kept()) {
      graph::Variable variable = from_.variables[old];
      variable.initial_constant = constants_(variable.initial_constant);
      variable.initial_graph = bodies_(variable.initial_graph);
      to_.variables.push_back(std::move(variable));
    }
  }

  // Those that were found and are not there yet. A body's own are appended to the list meanwhile.
  void CopyBodies() {
    while (to_.graphs.size() < bodies_.kept().size()) {
      graph::Graph body = from_.graphs[bodies_.kept()[to_.graphs.size()]];
      for (graph::Value& value : body.values) value.constant = constants_(value.constant);
      for (graph::Node& node : body.nodes) MapAttributes(node);
      to_.graphs.push_back(std::move(body));
    }
  }

  const ops::OpRegistry& registry_;
  const graph::Module& from_;
  graph::Module to_;
  Renumbering nodes_;
  Renumbering values_;
  Renumbering constants_;
  Renumbering variables_;
  Renumbering bodies_;
};

}  // namespace

Result<graph::Module> KeepSignatures(const ops::OpRegistry& registry, const graph::Module& module,
                                     std::span<const std::string> names) {
  std::vector<const graph::Signature*> kept;
  for (const std::string& name : names) {
    const graph::Signature* signature = module.FindSignature(name);
    if (signature == nullptr) {
      std::vector<std::string> known;
      for (const graph::Signature& candidate : module.signatures) known.push_back(candidate.name);
      return NotFound("the model has no signature '", name, "'; there are", ListText(known));
    }
    kept.push_back(signature);
  }
  return Keeper(registry, module).Run(kept);
}

graph::Module KeepSignatures(const ops::OpRegistry& registry, const graph::Module& module) {
  std::vector<const graph::Signature*> kept;
  for (const graph::Signature& signature : module.signatures) kept.push_back(&signature);
  return Keeper(registry, module).Run(kept);
}

}  // namespace hr::transform
