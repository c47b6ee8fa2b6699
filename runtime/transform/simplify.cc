#include "runtime/transform/simplify.h"

#include "runtime/base/errors.h"
#include "runtime/transform/keep_signatures.h"
#include "runtime/transform/specialize.h"

namespace hr::transform {
namespace {

using graph::kNone;
using graph::Node;
using graph::ValueId;

bool IsOp(const graph::Operator& op, std::string_view name) {
  return op.domain == ops::kOnnx && op.name == name;
}

// The values that somebody takes.
graph::Marks TakenOf(const graph::Module& module, const graph::Graph& graph) {
  graph::Marks taken(graph.values.size(), false);
  for (const Node& node : graph.nodes) {
    for (const ValueId input : node.inputs) {
      if (input != kNone) taken[input] = true;
    }
  }
  for (const ValueId output : graph.outputs) taken[output] = true;
  if (&graph != &module.main()) return taken;
  for (const graph::Port& port : module.signatures[0].outputs) taken[port.value] = true;
  return taken;
}

// Before operator set 12 Dropout never trains; from then on if an input says so.
bool Trains(const graph::Module& module, const graph::Graph& graph, const Node& node) {
  if (module.OperatorOf(node).version < 12 || node.inputs.size() < 3) return false;
  if (node.inputs[2] == kNone) return false;
  const uint32_t mode = graph.values[node.inputs[2]].constant;
  return mode == kNone || module.constants[mode].elements() != 1 ||
         *module.constants[mode].as<bool>();
}

// Whether the first output is the first input, and nothing else is asked for.
bool Copies(const graph::Module& module, const graph::Graph& graph, const graph::Marks& taken,
            const Node& node) {
  const graph::Operator& op = module.OperatorOf(node);
  if (node.inputs.empty() || node.outputs.empty() || node.outputs[0] == kNone) return false;
  if (IsOp(op, "Cast")) {
    return graph.values[node.inputs[0]].type.dtype == graph.values[node.outputs[0]].type.dtype;
  }
  // What a body no longer makes would stay in it; of the main graph only what is needed stays.
  const bool main = &graph == &module.main();
  const bool mask =
      node.outputs.size() > 1 && node.outputs[1] != kNone && (!main || taken[node.outputs[1]]);
  return IsOp(op, "Dropout") && !mask && !Trains(module, graph, node);
}

// Identities in the place of other copies.
void MakeIdentities(const ops::OpRegistry& registry, graph::Module& module) {
  const ops::OpDef& def = *registry.Newest(ops::kOnnx, "Identity");
  const uint32_t identity = module.InternOperator(def.domain, def.name, def.since_version);
  for (graph::Graph& graph : module.graphs) {
    const graph::Marks taken = TakenOf(module, graph);
    for (Node& node : graph.nodes) {
      if (!Copies(module, graph, taken, node)) continue;
      node.op = identity;
      node.inputs.resize(1);
      node.outputs.resize(1);
      node.attributes.clear();
    }
  }
}

// An output that is a copy of what a node makes can be that itself.
void TakeOriginals(graph::Module& module) {
  const graph::Graph& graph = module.main();
  for (graph::Port& port : module.signatures[0].outputs) {
    while (true) {
      const graph::NodeId producer = graph.values[port.value].producer;
      if (producer == kNone || !IsOp(module.OperatorOf(graph.nodes[producer]), "Identity")) break;
      const ValueId original = graph.nodes[producer].inputs[0];
      if (graph.values[original].producer == kNone) break;  // an input or a constant is copied
      port.value = original;
    }
  }
}

}  // namespace

Result<graph::Module> Simplify(const FoldTools& given, graph::Module module) {
  FoldTools tools = given;
  tools.widen_weights = false;
  if (module.signatures.size() != 1) {
    return InvalidArgument("a model with one signature can be simplified, this one has ",
                           module.signatures.size());
  }
  MakeIdentities(tools.operators, module);
  const std::vector<graph::Value> before = module.main().values;
  FoldRecord record;
  HR_RETURN_IF_ERROR(InferAndFold(tools, module, &record));
  MergeEqualNodes(tools.operators, record.order, module);
  TakeOriginals(module);
  for (ValueId id = 0; id < before.size(); ++id) {  // what the file knew better
    graph::ValueType& type = module.main().values[id].type;
    if (!type.ranked && before[id].type.ranked) type = before[id].type;
  }
  return KeepSignatures(tools.operators, module);
}

}  // namespace hr::transform
