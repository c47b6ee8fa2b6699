// The order of a region's steps.
#pragma once

#include <vector>

#include "runtime/ops/op_def.h"

namespace hr::lowering {

// The variables that a node writes, in the order of its definition; kNone for absent optional ones.
std::vector<uint32_t> WrittenVariables(const ops::OpRegistry& operators,
                                       const graph::Module& module, const graph::Node& node);

// Topological, and with every write of a variable as late as its followers allow, so that a run
// that fails or is cancelled has most likely changed nothing.
Result<std::vector<graph::NodeId>> Schedule(const ops::OpRegistry& operators,
                                            const graph::Module& module);

}  // namespace hr::lowering
