// Convolution of batch-blocked images (batch_blocked.h) by Winograd's minimal filtering: the same
// three passes as conv_batch_blocked.h with a fraction of the multiplications, 36 instead of 144
// for a tile of a 3 x 3 kernel, 64 instead of 400 for one of a 5 x 5 kernel. Lavin and Gray,
// arXiv:1509.09308; winograd_axis.h has the matrices. A pixel that is not finite makes its whole
// tile NaN.
//
// Rounding errors (rms of the error / rms of the result) are 4e-7 to 8e-7 for kernels of 3 x 3 and
// 2e-6 to 4e-6 for 5 x 5 and 7 x 7: 2 to 4 and 6 to 8 times those of a direct sum that adds up the
// sums of 16 channels each.
//
// float only. Alignment, determinism and scratch memory are as in conv_batch_blocked.h.
#pragma once

#include "backends/cpu/kernels/conv_batch_blocked.h"

namespace hr::cpu {

// Whether the passes below can take that convolution: stride and dilation 1, one group, kernels of
// 3 to 7 rows and columns.
bool WinogradTakes(const ConvShape& shape);
// Whether their rounding errors are then at most 8 times those of a direct sum.
bool WinogradIsAccurate(const ConvShape& shape);
// Whether they are also expected to be faster than direct convolution.
bool WinogradPays(const ConvShape& shape);

const ConvPasses<float>& WinogradConvPasses();

// Its passes.
size_t WinogradForwardScratchBytes(const ConvShape& shape, const ConvFusion& fusion, int slices);
void WinogradForward(const Lease& threads, const ConvShape& shape, const ConvFusion& fusion,
                     const ConvForwardArgs<float>& args, int slices, void* scratch);

size_t WinogradBackwardDataScratchBytes(const ConvShape& shape, const ConvFusion& fusion,
                                        int slices);
void WinogradBackwardData(const Lease& threads, const ConvShape& shape, const ConvFusion& fusion,
                          const ConvGradient<float>& gradient, const float* w, float* dx,
                          int slices, void* scratch);

size_t WinogradBackwardWeightsScratchBytes(const ConvShape& shape, const ConvFusion& fusion,
                                           int slices);
void WinogradBackwardWeights(const Lease& threads, const ConvShape& shape, const ConvFusion& fusion,
                             const ConvGradient<float>& gradient, const float* x, float* dw,
                             float* db, int slices, void* scratch);

}  // namespace hr::cpu
