// Kernels for 16-bit floats out of those for float32.
#pragma once

#include "backends/cpu/kernel_table.h"

namespace hr::cpu {

// Makes the kernel of `make` for this node. If it has operands of 16-bit floats, these are float32
// to that kernel: copies in scratch memory, which for the outputs are rounded once at the end. The
// kernel must need no preparation and write no variables.
Result<LoweredKernel> MakeWidened(const KernelRequest& request,
                                  Result<LoweredKernel> (*make)(const KernelRequest&));

}  // namespace hr::cpu
