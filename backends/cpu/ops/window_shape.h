// The kernels' shape structs from a node's attributes and operands.
#pragma once

#include "backends/cpu/kernel_table.h"
#include "backends/cpu/kernels/conv_shape.h"

namespace hr::cpu {

// `x`, `w`: shapes of the image and of the weights, one to three spatial axes.
Result<ConvShape> ConvShapeOf(const graph::Node& node, const Dims& x, const Dims& w);
// `x`: shape of the image.
Result<PoolShape> PoolShapeOf(const graph::Node& node, const Dims& x);

}  // namespace hr::cpu
