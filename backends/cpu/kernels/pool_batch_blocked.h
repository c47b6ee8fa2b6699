// Max and average pooling of batch-blocked images (batch_blocked.h), forward and backward, with
// ONNX's meaning of the attributes; a window may reach into padding, which never is the maximum.
// Global pooling is a window as large as the image.
//
// float and double. Images are aligned to 64 bytes. Results do not depend on `slices` (the planned
// number of threads) nor on the lease. Nothing is allocated.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/batch_blocked.h"
#include "backends/cpu/kernels/conv_shape.h"

namespace hr::cpu {

// The window over a whole image of ih x iw.
PoolShape GlobalPool(int64_t n, int64_t c, int64_t ih, int64_t iw);

// Whether places in the window fit a map of bytes: windows of up to 255 elements. Larger ones are
// trained in the plain layout (pool_plain.h).
bool MaxPoolHasMap(const PoolShape& shape);

// y = maximum of each window, -infinity where it is all padding. `argmax` (as y, may be null):
// where in its window (row-major) the first maximum was, kNoGradient where there was none.
template <typename T>
void MaxPool(const Lease& threads, const PoolShape& shape, const T* x, T* y, uint8_t* argmax,
             int slices);
// dx = gradient of x; all of it is written.
template <typename T>
void MaxPoolBackward(const Lease& threads, const PoolShape& shape, const T* dy,
                     const uint8_t* argmax, T* dx, int slices);

// y = mean of each window; padding is left out, or counts as 0 with count_include_pad.
template <typename T>
void AveragePool(const Lease& threads, const PoolShape& shape, const T* x, T* y, int slices);
template <typename T>
void AveragePoolBackward(const Lease& threads, const PoolShape& shape, const T* dy, T* dx,
                         int slices);

// The same for one channel of one block.
template <typename T>
void MaxPoolPlane(const PoolShape& shape, const T* x, T* y, uint8_t* argmax);
template <typename T>
void AveragePoolPlane(const PoolShape& shape, const T* x, T* y);
// These add to dx.
template <typename T>
void MaxPoolPlaneBackward(const PoolShape& shape, const T* dy, const uint8_t* argmax, T* dx);
template <typename T>
void AveragePoolPlaneBackward(const PoolShape& shape, const T* dy, T* dx);

}  // namespace hr::cpu
