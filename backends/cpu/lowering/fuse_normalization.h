// Joins the training of a BatchNormalization with what follows it, and with its gradient:
//
//   lowered.BatchNormalization(x, scale, bias, mean, variance, residual?) →
//       (y, running mean?, running variance?, mean of x?, variance of x?)
//   lowered.BatchNormalizationGrad(dy, x, scale, mean of x, variance of x, bias?) →
//       (dx, dscale, dbias)
//
// with the attributes of the nodes that they stand for. The residual is added to the normalized
// image, and with the attribute "relu" a ReLU is the last. The gradient takes the statistics from
// the forward pass; with a bias it begins with the gradient of a ReLU that followed directly, and
// computes the normalized image again to know where that had passed.
#pragma once

#include "runtime/lowering/region.h"

namespace hr::cpu {

void FuseNormalizations(lowering::Region& region);

}  // namespace hr::cpu
