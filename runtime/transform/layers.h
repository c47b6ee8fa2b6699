// Layers: variables with usual initial values, and the nodes that use them.
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

}  // namespace hr::transform
