// Max, average and Lp pooling of plain NCHW images, forward and backward, with ONNX's meaning of
// the attributes; a window may reach into padding, which never is the maximum. float and double;
// results do not depend on `slices` (the planned number of threads) nor on the lease. Nothing is
// allocated.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/conv_shape.h"
#include "runtime/base/executor.h"

namespace hr::cpu {

// y = maximum of each window, -infinity where it is all padding. `argmax` (as y, may be null):
// where in its channel's plane (ih * iw, row-major) the first maximum was, -1 where there was none.
template <typename T>
void MaxPoolPlain(const Lease& threads, const PoolShape& shape, const T* x, T* y, int64_t* argmax,
                  int slices);
// dx = gradient of x; all of it is written.
template <typename T>
void MaxPoolPlainBackward(const Lease& threads, const PoolShape& shape, const T* dy,
                          const int64_t* argmax, T* dx, int slices);

// y = mean of each window; padding is left out, or counts as 0 with count_include_pad.
template <typename T>
void AveragePoolPlain(const Lease& threads, const PoolShape& shape, const T* x, T* y, int slices);
template <typename T>
void AveragePoolPlainBackward(const Lease& threads, const PoolShape& shape, const T* dy, T* dx,
                              int slices);

// y = the p-norm of each window, p >= 1; padding counts as 0.
template <typename T>
void LpPoolPlain(const Lease& threads, const PoolShape& shape, double p, const T* x, T* y,
                 int slices);
// A window of norm 0 gives nothing to its elements.
template <typename T>
void LpPoolPlainBackward(const Lease& threads, const PoolShape& shape, double p, const T* dy,
                         const T* x, const T* y, T* dx, int slices);

}  // namespace hr::cpu
