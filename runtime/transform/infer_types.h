// Running the operators' type rules over nodes.
#pragma once

#include "runtime/ops/op_def.h"

namespace hr::transform {

// Sets the types of the node's outputs from those of its inputs. The failure names the node.
// `asked` (may be null) gets the inputs whose values the type rule wanted and that are not constant
// (InferContext::asked).
Status InferNode(const ops::OpRegistry& registry, const graph::Module& module, graph::Graph& graph,
                 graph::NodeId node, uint64_t* asked = nullptr);

// InferNode for every node of the graph, in topological order.
Status InferTypes(const ops::OpRegistry& registry, const graph::Module& module,
                  graph::Graph& graph);

}  // namespace hr::transform
