// From a rewritten region to a program: kernels, and buffers for its values.
#pragma once

#include <memory>
#include <vector>

#include "runtime/engine/program.h"
#include "runtime/lowering/target.h"

namespace hr::lowering {

// `order`: the nodes as they are to run. `pool`: for prepared memory, shared with the programs of
// the same region at other sizes.
Result<std::unique_ptr<engine::Program>> MakeProgram(const Target& target, const Region& region,
                                                     const std::vector<graph::NodeId>& order,
                                                     const CompileOptions& options,
                                                     std::shared_ptr<engine::PreparedPool> pool);

}  // namespace hr::lowering
