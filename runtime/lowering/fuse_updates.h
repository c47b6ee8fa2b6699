// Joins the optimizer steps of many variables into one node, whose kernel walks over all of them:
//
//   lowered.SGD(learning_rate, gradients…) → ()
//   lowered.Adam(learning_rate, gradients…) → ()
//
// with the attributes of the steps that they stand for. "variables" lists all variables, those of
// one step together.
#pragma once

#include "runtime/lowering/region.h"
#include "runtime/ops/op_def.h"

namespace hr::lowering {

void FuseUpdates(Region& region, const ops::OpRegistry& operators);

}  // namespace hr::lowering
