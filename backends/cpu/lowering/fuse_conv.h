// Joins Conv with the bias gradient, Relu and MaxPool around it, forward and backward, into the
// operators that the batch-blocked kernels run in one pass:
//
//   cpu.Conv(x, w, bias?) → (y, argmax?)
//   cpu.ConvGradWeight(dy, saved?, x) → (dw, dbias?)
//   cpu.ConvGradInput(dy, saved?, w) → dx
//
// with Conv's attributes, "relu" and "pool" (window height and width). `saved` is the argmax map
// with pooling, and y with Relu alone. Convolutions of plain images only take Relu with them:
// cpu.PlainConv(x, w, bias?) → y.
#pragma once

#include "backends/cpu/lowering/region.h"

namespace hr::cpu {

// `exact_sums`: as in CompileOptions.
void FuseConvolutions(Region& region, bool exact_sums);

}  // namespace hr::cpu
