// Copies of the parts of graphs.
#pragma once

#include "runtime/transform/request.h"

namespace hr::transform {

struct Extraction {
  graph::Module module;
  std::vector<graph::ValueId> origins;  // of its values, in the graph that it was taken from
};

// Returns what the request needs as the main graph of a module with one signature, "run": inputs in
// the order of the feeds, outputs in the order of the fetches. Variables keep their indices; bodies
// of the nodes come along. A feed without element type has the type of the value. `done`: nodes
// that ran before, whose results are fed and for which nobody waits; null: none.
Extraction Extract(const graph::Module& module, const Request& request,
                   const graph::Marks* done = nullptr);

// The nodes, values and constants that the signature "run" of an extracted module needs,
// renumbered.
Extraction NeededPart(const graph::Module& module);

// The nodes that the request's fetches and targets need, walking backwards from them and stopping
// at the values that are fed.
graph::Marks NeededNodes(const graph::Graph& graph, const graph::Marks& fed,
                         const Request& request);
// Those that a signature's outputs and targets need.
graph::Marks NodesOfSignature(const graph::Graph& graph, const graph::Signature& signature);

}  // namespace hr::transform
