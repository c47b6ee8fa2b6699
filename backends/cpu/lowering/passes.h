// Rewriting passes of the CPU backend, in the order in which they run.
#pragma once

#include "backends/cpu/lowering/region.h"

namespace hr::cpu {

Status RunPasses(Region& region, const CompileOptions& options);

}  // namespace hr::cpu
