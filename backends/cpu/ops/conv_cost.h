// What a convolution is expected to cost in each layout of images: which is why it runs in one or
// another. Estimates are drawn from measurements (tests/kernels/onednn_bench.cc), and from a
// table of the machine if there is one (conv_costs.h), never from timing in a run: the same model
// and the same table take the same kernels everywhere.
#pragma once

#include <span>

#include "backends/cpu/kernel_table.h"
#include "backends/cpu/kernels/conv_shape.h"
#include "backends/cpu/onednn/choice.h"
#include "backends/cpu/ops/conv_costs.h"

namespace hr::cpu {

// What a graph asks of a convolution, beside its size.
struct ConvUse {
  bool backward_data = false, backward_weights = false;
  // What makes x, and what takes y, only takes plain images: both are copied, and so are their
  // gradients.
  bool x_is_plain = false, y_is_plain = false;
  bool exact_sums = false;
  bool onednn = false;  // runs plain images where it is the faster one (onednn/choice.h)
  bool wide = false;    // numbers are not of float32, but of float64
};

// In nanoseconds of one thread.
struct ConvEstimate {
  double passes = 0;        // together; infinity if there is no kernel for the layout
  double copies = 0;        // to and from the layout
  std::string_view method;  // of the forward pass: a name of ConvCosts
  double total() const { return passes + copies; }
};

// Blocks of images are whole: 9 images cost as much as 16 there, while in the other layouts they
// cost what they are.
ConvEstimate EstimateConv(const ConvShape& shape, const ConvUse& use, Layout layout,
                          const ConvCosts& costs = {});
inline double ConvCost(const ConvShape& shape, const ConvUse& use, Layout layout,
                       const ConvCosts& costs = {}) {
  return EstimateConv(shape, use, layout, costs).total();
}

// Whether a pass over channels-last images of float32 runs on the matrix unit (split_conv.h), which
// needs no leave to be less accurate. `kept`: weights are ordered once.
bool RunsOnMatrixUnit(const ConvShape& shape, onednn::ConvPass pass, bool kept, bool exact_sums);

// Into how many slices a chain of convolutions (kernels/conv_chain.h) is cut.
int ChainSlices(std::span<const ConvShape> convs, int threads);
// Whether convolutions that follow each other, with weights that are ordered once, are one, and
// take less time so.
bool ConvChainPays(std::span<const ConvShape> convs, int threads);

}  // namespace hr::cpu
