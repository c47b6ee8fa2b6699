// Joins the optimizer steps of many variables into one node, whose kernel walks over all of them:
// cpu.SGD and cpu.Adam take (learning_rate, gradient of each variable…), have the attributes of the
// steps they stand for, and list all variables in "variables", those of one step together.
#pragma once

#include "backends/cpu/lowering/region.h"
#include "runtime/ops/op_def.h"

namespace hr::cpu {

void FuseUpdates(Region& region, const ops::OpRegistry& operators);

}  // namespace hr::cpu
