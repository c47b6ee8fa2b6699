// From a loss to a training step.
#pragma once

#include "runtime/transform/graph_builder.h"

namespace hr::transform {

// Adds the gradients of the scalar `loss` for each trainable variable that it depends on, through
// whichever of its reads, and nodes that update the variables, the new targets of `signature`.
// `optimizer`: one of ops::Optimizers with settings of it, "sgd momentum=0.9". State variables are
// called "<variable>/<optimizer's state>", or
// "<variable>/<signature>/<optimizer's state>" where another signature's are called so already.
// `learning_rate`: a scalar. A failure leaves the graph as it was.
Status Minimize(GraphBuilder& builder, std::string_view signature, ValueId loss,
                std::string_view optimizer, ValueId learning_rate);

}  // namespace hr::transform
