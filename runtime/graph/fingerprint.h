// A number that tells graphs apart.
#pragma once

#include "runtime/graph/graph.h"

namespace hr::graph {

// Equal for modules that compute the same by the same nodes: a hash (64-bit FNV-1a) of operators,
// edges, attributes, types, names, variables and signatures, and of what small constants hold. Of
// constants of more than 4 KiB, and of initial values, only the type counts; metadata do not.
uint64_t Fingerprint(const Module& module);
// Of names, types and shapes of the variables alone.
uint64_t VariableFingerprint(const Module& module);

}  // namespace hr::graph
