// Joins Conv with the bias gradient, Relu and MaxPool around it, forward and backward, into the
// operators that the batch-blocked kernels run in one pass:
//
//   lowered.Conv(x, w, bias?) → (y, argmax?)
//   lowered.ConvGradWeight(dy, saved?, x) → (dw, dbias?)
//   lowered.ConvGradInput(dy, saved?, w) → dx
//
// with Conv's attributes, "relu" and "pool" (window height and width). `saved` is the argmax map
// with pooling, and y with Relu alone. Convolutions of plain images only take Relu with them:
// lowered.PlainConv(x, w, bias?) → y.
// Channels-last ones are joined with more of what follows:
// lowered.ChannelsLastConv(x, w, bias?, scale?, bias?, mean?, variance?, residual?) → y, where
// inputs 3 to 6 are those of a BatchNormalization, and the attributes "low" and "high" those of a
// Clip.
#pragma once

#include "backends/cpu/lowering/conv_layouts.h"
#include "runtime/lowering/region.h"

namespace hr::cpu {

void FuseConvolutions(lowering::Region& region, const ConvChoiceOptions& options);

}  // namespace hr::cpu
