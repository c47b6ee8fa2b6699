// Cutting a module down to some of its signatures.
#pragma once

#include <span>
#include <string>

#include "runtime/ops/op_def.h"

namespace hr::transform {

// The module with only the named signatures, and only the nodes, constants and variables that they
// need; inputs that they do not name are gone as well. NOT_FOUND for an unknown name.
Result<graph::Module> KeepSignatures(const ops::OpRegistry& registry, const graph::Module& module,
                                     std::span<const std::string> names);
// The same with all its signatures.
graph::Module KeepSignatures(const ops::OpRegistry& registry, const graph::Module& module);

}  // namespace hr::transform
