// From a module and a request (feeds, fetches, targets) to the smallest graph that answers it, with
// every type concrete: what a plan is compiled from.
#pragma once

#include "runtime/ops/op_def.h"

namespace hr::transform {

// A value that the caller gives, which cuts off whatever would compute it.
struct Feed {
  graph::ValueId value = graph::kNone;
  DType dtype = DType::kUndefined;
  Dims dims;
};

struct Request {
  uint32_t graph = 0;  // index into Module::graphs
  std::vector<Feed> feeds;
  std::vector<graph::ValueId> fetches;
  std::vector<graph::NodeId> targets;
};

// Computes a node whose inputs are all constants.
class ConstantEvaluator {
 public:
  virtual ~ConstantEvaluator() = default;
  virtual Result<std::vector<Tensor>> Evaluate(const graph::Module& module, graph::NodeId node) = 0;
};

// The result has one graph and one signature, "run": inputs in the order of the feeds, outputs in
// the order of the fetches. Variables keep their indices. Nodes that neither a fetch nor a target
// needs are gone; shapes are concrete; what depends on constants alone is computed (`evaluator` may
// be null: then only shapes are), and equal pure nodes are merged.
// Folded shapes get their memory from `allocator`, which must outlive them.
Result<graph::Module> Specialize(const ops::OpRegistry& registry, const graph::Module& module,
                                 const Request& request, ConstantEvaluator* evaluator,
                                 Allocator& allocator);

// The nodes, values and constants that the signature "run" of a specialized module needs,
// renumbered.
graph::Module RemoveDeadNodes(const graph::Module& module);

}  // namespace hr::transform
