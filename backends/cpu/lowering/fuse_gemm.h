// Joins matrix products with the bias and the activation behind them into cpu.Gemm, which has
// Gemm's attributes and "activation" (kernels/gemm.h's Activation).
#pragma once

#include "backends/cpu/lowering/region.h"

namespace hr::cpu {

void FuseMatrixProducts(Region& region);

}  // namespace hr::cpu
