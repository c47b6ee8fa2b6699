// Max and average pooling of plain images, forward and backward, of as many channels at once as
// fill 64 bytes: a band of rows after the other is transposed, pooled as a block of images would be
// (pool_batch_blocked.h), and transposed back, all in the cache. As there, results do not depend on
// `slices` nor on the lease, and nothing is allocated: `scratch` has PoolByLanesBytes.
#pragma once

#include <cstddef>

#include "backends/cpu/kernels/conv_shape.h"
#include "runtime/base/executor.h"

namespace hr::cpu {

// Whether a band is small enough, and images have no depth.
bool CanPoolByLanes(const PoolShape& shape);
size_t PoolByLanesBytes(const PoolShape& shape, int slices);

template <typename T>
void MaxPoolByLanes(const Lease& threads, const PoolShape& shape, const T* x, T* y, int slices,
                    void* scratch);
template <typename T>
void AveragePoolByLanes(const Lease& threads, const PoolShape& shape, const T* x, T* y, int slices,
                        void* scratch);
// dx = gradient of x; all of it is written. MaxPoolHasMap(shape).
template <typename T>
void MaxPoolByLanesBackward(const Lease& threads, const PoolShape& shape, const T* dy, const T* x,
                            T* dx, int slices, void* scratch);
template <typename T>
void AveragePoolByLanesBackward(const Lease& threads, const PoolShape& shape, const T* dy, T* dx,
                                int slices, void* scratch);

}  // namespace hr::cpu
