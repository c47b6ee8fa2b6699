// From a region to a program: rewriting (fusion, layouts), scheduling, kernels, buffers.
#pragma once

#include <memory>

#include "runtime/engine/program.h"
#include "runtime/graph/graph.h"

namespace hr::cpu {

Result<std::unique_ptr<Executable>> Lower(const graph::Module& region,
                                          const CompileOptions& options);

}  // namespace hr::cpu
