// From a loss to a training step.
#pragma once

#include "runtime/transform/graph_builder.h"

namespace hr::transform {

// Adds the gradients of the scalar `loss` for each trainable variable that it depends on, and a
// node that updates the variable; returns those nodes. `optimizer`: "sgd" with momentum, dampening,
// weight_decay, nesterov; "adam" with beta1, beta2, epsilon, weight_decay, decoupled. State
// variables are called "<variable>/<optimizer's state>". `learning_rate`: a scalar.
Result<std::vector<NodeId>> Minimize(GraphBuilder& builder, ValueId loss,
                                     std::string_view optimizer, ValueId learning_rate);

}  // namespace hr::transform
