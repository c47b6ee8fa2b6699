// A graph of a module as text for people and tools.
#pragma once

#include "runtime/base/json_writer.h"
#include "runtime/ops/op_def.h"

namespace hr::capi {

// A graph, and which of its nodes and values are shown.
struct GraphView {
  const graph::Module& module;
  const graph::Graph& graph;
  const ops::OpRegistry& operators;
  std::vector<graph::NodeId> order;  // of all nodes: producers before users
  graph::Marks nodes;
  graph::Marks values;
};

// The whole of module.graphs[index], or of the main graph what `signature` needs if it is not
// null.
Result<GraphView> ViewGraph(const ops::OpRegistry& operators, const graph::Module& module,
                            size_t index, const graph::Signature* signature);

void WriteAttribute(JsonWriter& json, const graph::AttributeValue& value);
std::string GraphJson(const GraphView& view);
// For Graphviz.
std::string GraphDot(const GraphView& view);

}  // namespace hr::capi
