// The CPU as lowering sees it.
#pragma once

#include <memory>

#include "backends/cpu/ops/conv_costs.h"
#include "runtime/lowering/target.h"

namespace hr::cpu {

// A target that chooses by a machine's costs.
std::shared_ptr<const lowering::Target> CpuTarget(const ConvCosts& costs = {});

}  // namespace hr::cpu
