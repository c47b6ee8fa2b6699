// The kernel of an operator that the host added to its env.
#pragma once

#include "backends/cpu/kernel_table.h"
#include "runtime/ops/custom_op.h"

namespace hr::cpu {

// `op` outlives the kernel, as the env outlives its plans.
Result<LoweredKernel> MakeCustom(const KernelRequest& request, const ops::CustomOp& op);

}  // namespace hr::cpu
