// Convolution of batch-blocked images (batch_blocked.h) by Winograd's minimal filtering: the same
// three passes as conv_batch_blocked.h with a fraction of the multiplications, 64 instead of
// (9 - k)^2 * k^2 for a tile of a k x k kernel (k = 3: 1/5, k = 5: 1/6). Lavin and Gray,
// arXiv:1509.09308, with tiles of 8 x 8 and the points 0, 1, -1, 2, -2, 1/2, -1/2 and infinity.
// Rounding errors are about 3 (k = 5) to 6 (k = 3) times those of the direct sum: some 2e-6 of the
// result's size. A pixel that is not finite makes its whole tile NaN.
//
// float only. Alignment, determinism and scratch memory are as in conv_batch_blocked.h.
#pragma once

#include "backends/cpu/kernels/conv_batch_blocked.h"

namespace hr::cpu {

// Whether the passes below can take that convolution: stride and dilation 1, one group, kernels of
// 3 to 7 rows and columns.
bool WinogradTakes(const ConvShape& shape);
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
