// Which layout the convolutions of a region run in.
#pragma once

#include <vector>

#include "backends/cpu/lowering/conv_pins.h"
#include "backends/cpu/ops/conv_costs.h"
#include "runtime/lowering/region.h"

namespace hr::cpu {

// The attribute of convolutions and of their gradients that run on channels-last images.
inline constexpr std::string_view kChannelsLast = "channels_last";

struct ConvChoiceOptions {
  bool exact_sums = false;  // CompileOptions::exact_sums
  ConvPins pins;
  ConvCosts costs;
};

// Chooses for each convolution of the region, and notes the choice (lowering/choice.h). Those that
// hand images to each other, directly or by way of nodes that take any layout, run in one: the one
// in which all of them together cost least (ops/conv_cost.h), or the pinned one if they can run in
// it. Returns the nodes that run batch-blocked; those that run channels-last, and their gradients,
// get the attribute.
std::vector<graph::NodeId> ChooseConvLayouts(lowering::Region& region,
                                             const ConvChoiceOptions& options);

}  // namespace hr::cpu
