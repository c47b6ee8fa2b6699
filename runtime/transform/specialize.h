// From a module and a request (feeds, fetches, targets) to the smallest graph that answers it, with
// every type concrete: what a plan is compiled from.
#pragma once

#include "runtime/transform/fold.h"
#include "runtime/transform/request.h"

namespace hr::transform {

// What Specialize did, so that its result can be had at other sizes of the feeds.
struct Recipe {
  graph::Module part;  // what the request needs, before anything was inferred
  FoldRecord folds;
  std::vector<graph::ValueId> origins;  // of the result's values, in `part`
};

// The result has one graph and one signature, "run": inputs in the order of the feeds, outputs in
// the order of the fetches. Variables keep their indices. Nodes that neither a fetch nor a target
// needs are gone; shapes are concrete; what depends on constants alone is computed (`evaluator` may
// be null: then only shapes are), and equal pure nodes are merged.
// Folded shapes get their memory from `allocator`, which must outlive them. `recipe` may be null.
Result<graph::Module> Specialize(const ops::OpRegistry& registry, const graph::Module& module,
                                 const Request& request, ConstantEvaluator* evaluator,
                                 Allocator& allocator, Recipe* recipe = nullptr);

// What Specialize would have made of feeds of other sizes, but with the nodes, values and number of
// constants of `specialized`, the module that it made with the recipe (its nodes may be sorted):
// only types and the contents of constants differ. The caller has checked the request.
Result<graph::Module> AtSizes(const ops::OpRegistry& registry, const Recipe& recipe,
                              const graph::Module& specialized, std::span<const Feed> feeds,
                              ConstantEvaluator* evaluator, Allocator& allocator);

// The nodes that the request's fetches and targets need, walking backwards from them and stopping
// at the values that are fed.
graph::Marks NeededNodes(const graph::Graph& graph, const graph::Marks& fed,
                         const Request& request);

// The nodes, values and constants that the signature "run" of a specialized module needs,
// renumbered.
graph::Module RemoveDeadNodes(const graph::Module& module);

}  // namespace hr::transform
