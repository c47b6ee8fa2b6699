// The CPU as lowering sees it.
#pragma once

#include "runtime/lowering/target.h"

namespace hr::cpu {

const lowering::Target& CpuTarget();

}  // namespace hr::cpu
