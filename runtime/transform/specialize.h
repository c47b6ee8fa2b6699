// From a module and a request (feeds, fetches, targets) to the smallest graph that answers it, with
// every type concrete: what a plan is compiled from.
#pragma once

#include "runtime/transform/extract.h"
#include "runtime/transform/fold.h"
#include "runtime/transform/request.h"

namespace hr::transform {

// What Specialize did, so that its result can be had at other sizes of the feeds.
struct Recipe {
  graph::Module part;  // what the request needs, before anything was inferred
  FoldRecord folds;
  std::vector<graph::ValueId> origins;  // of the result's values, in `part`
};

// Returns what a request needs, as Extract does; it has been checked that all of it is fed.
Result<graph::Module> RequestedPart(const graph::Module& module, const Request& request);

// INVALID_ARGUMENT, which names all values that an extracted module needs and that nothing feeds.
Status CheckFed(const graph::Module& module);

// Merges pure nodes with the same operator, inputs and attributes, and lets users of an Identity
// use what it copies. `order` is a topological one.
void MergeEqualNodes(const ops::OpRegistry& registry, const std::vector<graph::NodeId>& order,
                     graph::Module& module);

// The result has one graph and one signature, "run": inputs in the order of the feeds, outputs in
// the order of the fetches. Variables keep their indices. Nodes that neither a fetch nor a target
// needs are gone; shapes are concrete; what depends on constants alone is computed (`evaluator` may
// be null: then only shapes are), and equal small constants and equal pure nodes are merged.
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

}  // namespace hr::transform
