// Types that a target has no kernels for, computed in wider ones.
#pragma once

#include <optional>

#include "runtime/lowering/target.h"

namespace hr::lowering {

// The module with casts around each node whose operator the target computes in another type than
// it has (Target::ComputeType). Values and nodes keep their numbers; what is added follows them.
// Nothing if there is no such node.
std::optional<graph::Module> Widened(const Target& target, const graph::Module& module);

}  // namespace hr::lowering
