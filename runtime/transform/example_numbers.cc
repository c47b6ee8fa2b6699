#include "runtime/transform/example_numbers.h"

#include <algorithm>

#include "runtime/base/errors.h"

namespace hr::transform {
namespace {

bool IsRandom(const GraphBuilder& builder, const graph::Node& node) {
  return ops::DefOf(builder.registry(), builder.module(), node).random;
}

// Whether a body of the node, or one inside of it, draws numbers.
bool HasRandomBody(const GraphBuilder& builder, const graph::Node& node) {
  for (const graph::Attribute& attribute : node.attributes) {
    const auto* body = std::get_if<graph::GraphIndex>(&attribute.value);
    if (body == nullptr) continue;
    const auto& nodes = builder.module().graphs[body->index].nodes;
    if (std::any_of(nodes.begin(), nodes.end(), [&](const graph::Node& inner) {
          return IsRandom(builder, inner) || HasRandomBody(builder, inner);
        })) {
      return true;
    }
  }
  return false;
}

bool HasBatchAxis(const graph::ValueType& type, const graph::Dim& batch) {
  if (!type.ranked) return true;
  return std::any_of(type.dims.begin(), type.dims.end(), [&](const graph::Dim& dim) {
    if (dim.fixed()) return false;
    return dim.symbol == kNone || batch.symbol == kNone || dim.symbol == batch.symbol;
  });
}

// The number of elements that a node draws. Of all random operators that have inputs, the first one
// has as many, but for Multinomial's [batch, classes].
ValueId ElementsOf(const GraphBuilder& builder, Formula& f, NodeId id) {
  const graph::Node& node = builder.graph().nodes[id];
  const ValueId like = node.inputs[0];
  if (builder.module().OperatorOf(node).name != "Multinomial") return f.Emit("Size", {like});
  const int64_t samples = node.Int("sample_size", 1);
  const ValueId rows = f.Emit("Shape", {like}, {{"start", int64_t{0}}, {"end", int64_t{1}}});
  return f.Mul(f.ReduceAll("ReduceSum", rows), f.Integer(samples));
}

}  // namespace

Result<std::vector<NodeId>> DrawsOfExamples(const GraphBuilder& builder, const graph::Marks& marked,
                                            const BatchOfRank& batch) {
  const graph::Graph& graph = builder.graph();
  std::vector<NodeId> out;
  for (NodeId id = 0; id < marked.size(); ++id) {
    const graph::Node& node = graph.nodes[id];
    if (!marked[id]) continue;
    if (HasRandomBody(builder, node)) {
      return Unimplemented("node '", graph::NodeText(builder.module(), graph, id),
                           "' has a body that draws random numbers, which do not follow the "
                           "examples of all ranks; draw them before it and give them to it");
    }
    if (!IsRandom(builder, node) || node.inputs.empty()) continue;
    const bool draws = batch.examples == kNone
                           ? batch.fed[node.outputs[0]] != 0
                           : HasBatchAxis(graph.values[node.outputs[0]].type, batch.axis);
    if (draws) out.push_back(id);
  }
  return out;
}

Status NumberByExample(GraphBuilder& builder, RankNodes& ranks, Formula& f,
                       std::span<const NodeId> draws, const BatchOfRank& batch) {
  if (draws.empty()) return {};
  const bool fixed = batch.examples == kNone;
  const ValueId own = fixed ? f.Integer(1) : batch.examples;
  HR_RETURN_IF_ERROR(f.status());
  HR_ASSIGN_OR_RETURN(const ValueId before, ranks.Exscan(own));
  const ValueId divisor = fixed ? own : f.Max(own, f.Integer(1));
  for (NodeId id : draws) {
    const ValueId first = f.Mul(before, f.Div(ElementsOf(builder, f, id), divisor));
    HR_RETURN_IF_ERROR(f.status());
    const ops::OpDef& def =
        ops::DefOf(builder.registry(), builder.module(), builder.graph().nodes[id]);
    builder.SetInput(id, static_cast<size_t>(def.inputs.max) - 1, first);
  }
  return {};
}

}  // namespace hr::transform
