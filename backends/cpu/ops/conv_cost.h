// What a convolution is expected to cost on batch-blocked and on plain images: which is why it runs
// on one or the other. Estimates are drawn from measurements (tests/kernels/onednn_bench.cc), never
// from timing in a run: the same model takes the same kernels everywhere.
#pragma once

#include "backends/cpu/kernels/conv_shape.h"

namespace hr::cpu {

// What a graph asks of a convolution, beside its size.
struct ConvUse {
  bool backward_data = false, backward_weights = false;
  // What makes x, and what takes y, does not take batch-blocked images: both are copied, and so are
  // their gradients.
  bool x_is_plain = false, y_is_plain = false;
  bool exact_sums = false;
  bool onednn = false;  // runs plain images where it is the faster one (onednn/choice.h)
};

// Whether the passes together cost less on batch-blocked images. Blocks are whole: 9 images there
// cost as much as 16, while plain ones cost what they are.
bool BatchBlockedPays(const ConvShape& shape, const ConvUse& use);

}  // namespace hr::cpu
