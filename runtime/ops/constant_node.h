// What a node Constant makes.
#pragma once

#include "runtime/graph/graph.h"

namespace hr::ops {

bool IsConstantNode(const graph::Operator& op);

// The value of a node whose attributes its type rule has accepted. A list or a number is small, and
// comes from the system's allocator.
Result<Tensor> ValueOfConstantNode(const graph::Module& module, const graph::Node& node);

}  // namespace hr::ops
