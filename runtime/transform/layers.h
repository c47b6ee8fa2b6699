// Layers: variables with usual initial values, and the nodes that use them.
//
// A layer whose name is used again uses the variables that are there if their types are those that
// it needs, so that several paths share them; else the call is ALREADY_EXISTS. Layers use the
// values that their variables have at the start of the step: a path that is added after a training
// step does not wait for that. A failure leaves the graph as it was.
#pragma once

#include "runtime/transform/graph_builder.h"

namespace hr::transform {

// Variables "<name>/weight" [units, features] and "<name>/bias" [units], uniform within
// 1 / sqrt(features) (PyTorch's default); x: [N, features], flattened where its rank is higher.
Result<ValueId> Dense(GraphBuilder& builder, std::string_view name, ValueId x, int64_t units);

// Variables "<name>/weight" [channels, C, kernel, kernel] and "<name>/bias"; x: [N, C, H, W].
// `attributes` are Conv's.
Result<ValueId> Conv2d(GraphBuilder& builder, std::string_view name, ValueId x, int64_t channels,
                       int64_t kernel, std::vector<graph::Attribute> attributes);

struct Normalized {
  ValueId value = kNone;
  NodeId update = kNone;  // keeps the running statistics; kNone without training
};

// Normalizes x: [N, C, …] over all but dimension 1, as torch.nn.BatchNorm2d does. Variables
// "<name>/scale" (1), "/bias" (0), "/mean" (0) and "/variance" (1), [C]; the last two, the running
// statistics, are not trainable. `attributes`: epsilon (1e-5) and momentum (0.1).
//
// With training: by the mean and the population variance of x. `update` then makes each running
// statistic (1 - momentum) * running + momentum * x's, with the unbiased variance of x (0 if there
// is one value a channel). Without: by the running statistics.
Result<Normalized> BatchNorm(GraphBuilder& builder, std::string_view name, ValueId x, bool training,
                             const std::vector<graph::Attribute>& attributes);

}  // namespace hr::transform
