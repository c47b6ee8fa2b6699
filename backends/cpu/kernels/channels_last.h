// The channels-last layout: [n][h][w][c], for images with any number of axes. Vector lanes are
// channels, and a matrix of pixels is what lies in memory.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/conv_shape.h"
#include "runtime/base/executor.h"

namespace hr::cpu {

// from is [n][c][plane], to [n][plane][c]: elements of 1, 2, 4 or 8 bytes. The other way with c
// and plane exchanged.
void ToChannelsLast(const Lease& threads, int64_t n, int64_t c, int64_t plane, size_t element_bytes,
                    const void* from, void* to, int slices);

// Pooling with ONNX's meaning of the attributes; a window may reach into padding, which never is
// the maximum. Two spatial axes. Results do not depend on `slices` nor on the lease.
//
// y = maximum of each window, -infinity where it is all padding.
template <typename T>
void MaxPoolChannelsLast(const Lease& threads, const PoolShape& shape, const T* x, T* y,
                         int slices);
// dx = gradient of x: that of y goes to the first maximum of each window. All of it is written.
template <typename T>
void MaxPoolChannelsLastBackward(const Lease& threads, const PoolShape& shape, const T* dy,
                                 const T* x, T* dx, int slices);
// y = mean of each window; padding is left out, or counts as 0 with count_include_pad.
template <typename T>
void AveragePoolChannelsLast(const Lease& threads, const PoolShape& shape, const T* x, T* y,
                             int slices);
template <typename T>
void AveragePoolChannelsLastBackward(const Lease& threads, const PoolShape& shape, const T* dy,
                                     T* dx, int slices);

}  // namespace hr::cpu
