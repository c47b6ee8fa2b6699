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
//
// The settings may also have clip_value, clip_norm and clip_global_norm (clip.h), accumulate=N,
// which updates in each N-th run by the mean of the N runs' gradients, and average=DECAY, which
// keeps a moving average of each variable (average.h). Gradients are accumulated, then clipped.
Status ApplyGradients(GraphBuilder& builder, std::string_view signature, std::string_view optimizer,
                      ValueId learning_rate, std::span<const uint32_t> variables,
                      std::span<const ValueId> gradients);

// Calls VariableGradients and ApplyGradients for all trainable variables that the scalar `loss`
// depends on. The updates also come after all that the loss does with their variables.
Status Minimize(GraphBuilder& builder, std::string_view signature, ValueId loss,
                std::string_view optimizer, ValueId learning_rate);

// Trainable variables that have an optimizer and a learning rate of their own.
struct ParameterGroup {
  std::string_view patterns;  // of names, apart by commas
  std::string_view optimizer;
  ValueId learning_rate = kNone;
};

// Minimizes as Minimize does, each variable with the first of the groups that has a pattern for it.
// NOT_FOUND if a pattern fits no trainable variable, FAILED_PRECONDITION if no group has a variable
// that the loss depends on.
Status MinimizeGroups(GraphBuilder& builder, std::string_view signature, ValueId loss,
                      std::span<const ParameterGroup> groups);

// Sets `trainable` of the variables whose names fit one of the patterns. Returns how many these
// are; NOT_FOUND, and nothing is changed, if a pattern fits none.
Result<size_t> SetTrainable(GraphBuilder& builder, std::string_view patterns, bool trainable);

}  // namespace hr::transform
