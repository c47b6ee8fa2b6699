// How Resize samples its axes. Type rules and kernels use the same functions, so sizes and
// coordinates are settled in one place.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "runtime/device/tensor.h"
#include "runtime/graph/graph.h"

namespace hr::ops {

// An axis that gets another size.
struct ResizedAxis {
  size_t axis = 0;
  int64_t in = 0, out = 0;
  double scale = 1;
  double begin = 0, end = 1;  // of the region of interest, in parts of the axis
};

// The inputs of Resize that decide its shape; null if a node does not have them.
struct ResizeInputs {
  const Tensor* region = nullptr;
  const Tensor* scales = nullptr;
  const Tensor* sizes = nullptr;
};

// The axes of a node with known sizes. INVALID_ARGUMENT if the inputs do not fit.
Result<std::vector<ResizedAxis>> ResizedAxes(const graph::Node& node, std::span<const int64_t> dims,
                                             const ResizeInputs& inputs);

// Element o of an axis is the sum over t of weight[o * taps + t] times the element
// index[o * taps + t] of the input, or a value of its own where `outside` is set.
struct ResampleTable {
  int64_t taps = 1;
  std::vector<int64_t> index;
  std::vector<double> weight;
  std::vector<bool> outside;
};
Result<ResampleTable> MakeResampleTable(const graph::Node& node, const ResizedAxis& axis);

}  // namespace hr::ops
