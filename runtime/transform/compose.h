// Composed operators (ops/compose.h) in the place of which their compositions run.
#pragma once

#include "runtime/base/function_ref.h"
#include "runtime/transform/graph_builder.h"

namespace hr::transform {

// Whether the main graph has a node that is composed (OpDef::is_composed).
bool HasComposed(const ops::OpRegistry& registry, const graph::Module& module);

// Returns the module with the compositions of all such nodes. What was there before keeps its
// number and its name: such a node becomes an Identity of what its composition gives.
// `all`: of those for which there are kernels, too.
Result<graph::Module> Composed(Allocator& allocator, const ops::OpRegistry& registry,
                               graph::Module module, bool all = false);

struct Composition {
  graph::Module module;
  bool any = false;  // something was composed
};
// The same, but nodes wait that need to know a rank, or integers, which are not known yet.
Result<Composition> ComposedWhereKnown(Allocator& allocator, const ops::OpRegistry& registry,
                                       graph::Module module);

// The same for the nodes of some composed operators, whether they have kernels or not.
Result<Composition> ComposedOf(Allocator& allocator, const ops::OpRegistry& registry,
                               graph::Module module,
                               FunctionRef<bool(const graph::Operator&)> which);

// Emits the composition of one node, with other values in the place of its inputs, and returns the
// values of its outputs; kNone for those that the node does not have.
Result<std::vector<ValueId>> EmitComposition(GraphBuilder& builder, NodeId node,
                                             std::vector<ValueId> inputs);

}  // namespace hr::transform
