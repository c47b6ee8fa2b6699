// Convolution of plain NCHW images, forward and backward: what small batches take, for which the
// batch-blocked kernels would leave vector lanes empty. Method: columns of input patches (im2col),
// some pixels at a time, and matrix products (gemm.h).
//
// float and double. Results depend on the shape and on `slices` (the planned number of threads),
// never on how many threads the lease has. Nothing is allocated: `scratch`, aligned to 64 bytes,
// has the size that the …ScratchBytes partner says.
#pragma once

#include <cstddef>

#include "backends/cpu/kernels/conv_shape.h"
#include "backends/cpu/kernels/gemm.h"

namespace hr::cpu {

// For the forward pass and the gradient of x; what the gradient of w needs is enough for both.
template <typename T>
size_t ConvPlainScratchBytes(const ConvShape& shape, int slices);
template <typename T>
size_t ConvPlainWeightsScratchBytes(const ConvShape& shape, int slices);

// y = activation(convolution + bias); `bias` ([oc]) may be null.
template <typename T>
void ConvPlainForward(const Lease& threads, const ConvShape& shape, const T* x, const T* w,
                      const T* bias, Activation activation, T* y, int slices, void* scratch);

// dx = gradient of x; all of it is written.
template <typename T>
void ConvPlainBackwardData(const Lease& threads, const ConvShape& shape, const T* dy, const T* w,
                           T* dx, int slices, void* scratch);

// dw = gradient of w, db = gradient of the bias ([oc], may be null); both are overwritten.
template <typename T>
void ConvPlainBackwardWeights(const Lease& threads, const ConvShape& shape, const T* dy, const T* x,
                              T* dw, T* db, int slices, void* scratch);

}  // namespace hr::cpu
