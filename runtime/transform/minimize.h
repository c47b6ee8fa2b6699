// From gradients to a training step.
#pragma once

#include "runtime/transform/graph_builder.h"

namespace hr::transform {

// Adds nodes that update the variables by their gradients, the new targets of `signature`; a
// variable whose gradient is kNone is left alone. `optimizer`: one of ops::Optimizers with settings
// of it, "sgd momentum=0.9". State variables are called "<variable>/<optimizer's state>", or
// "<variable>/<signature>/<optimizer's state>" if another signature's are called so already.
// `learning_rate`: a scalar of float32 or float64. An update comes after all that the gradients and
// the signature's outputs and targets so far do with its variable. A failure leaves the graph as it
// was.
Status ApplyGradients(GraphBuilder& builder, std::string_view signature, std::string_view optimizer,
                      ValueId learning_rate, std::span<const uint32_t> variables,
                      std::span<const ValueId> gradients);

// Calls VariableGradients and ApplyGradients for all trainable variables that the scalar `loss`
// depends on. The updates also come after all that the loss does with their variables.
Status Minimize(GraphBuilder& builder, std::string_view signature, ValueId loss,
                std::string_view optimizer, ValueId learning_rate);

}  // namespace hr::transform
