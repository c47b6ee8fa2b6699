// Sliding windows of convolutions and pools. Kernels use the same functions as the type rules, so
// padding is settled in one place.
#pragma once

#include <span>
#include <vector>

#include "runtime/base/errors.h"
#include "runtime/graph/graph.h"

namespace hr::ops {

// One spatial axis, in elements.
struct WindowAxis {
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_begin = 0;
  int64_t pad_end = 0;
  int64_t output = graph::kUnknownDim;  // unknown where the input's size is

  // What the window covers, gaps of the dilation included.
  int64_t extent() const { return (kernel - 1) * dilation + 1; }
};

// The windows of a Conv or pool with the attributes strides, dilations, pads, auto_pad and
// ceil_mode. `kernel` and `input` have an entry per spatial axis; an unknown input size is -1.
// With ceil_mode, a window that would begin in the padding behind the input is left out.
Result<std::vector<WindowAxis>> ResolveWindow(const graph::Node& node,
                                              std::span<const int64_t> kernel,
                                              std::span<const int64_t> input);

// Returns the attribute `p` of LpPool and GlobalLpPool, 2 if it is absent; their version 1 has it
// as a float. It was checked to be finite and 1 or more.
double NormOf(const graph::Node& node);

}  // namespace hr::ops
