// A model with less to do: what converters offer for files that exporters left unfinished.
#pragma once

#include "runtime/transform/fold.h"

namespace hr::transform {

// Returns a module that gives the same results in fewer nodes, whatever sizes are fed. It has one
// signature, whose ports stay as they are called. In the main graph, what depends on constants
// alone and is not large becomes a constant; copies (Identity), casts to the same type, and nodes
// that compute what another one does go. In bodies, too, Dropout that does not train is a copy.
// Nodes, constants and variables that the signature does not need go. Weights are variables and
// stay.
//
// A constant node that cannot be computed is an error that names it.
Result<graph::Module> Simplify(const FoldTools& tools, graph::Module module);

}  // namespace hr::transform
