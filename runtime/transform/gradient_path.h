// Where gradients stop on their way from a loss to the variables that are to be trained.
#pragma once

#include "runtime/ops/op_def.h"

namespace hr::transform {

// The failure of a loss of the main graph on which no trainable variable depends through
// differentiable operators: it names a path from a variable to the loss, if there is one, and the
// operator on it that has no gradient. `loss` may be kNone, if nothing is known of it.
Status NoGradient(const ops::OpRegistry& registry, const graph::Module& module,
                  graph::ValueId loss);

}  // namespace hr::transform
