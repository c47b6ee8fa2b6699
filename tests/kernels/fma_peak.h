// The fused multiply-adds that this machine can do, to judge kernels by.
#pragma once

#include "runtime/base/executor.h"

namespace hr::bench {

// GFLOP/s of float on all threads of the lease, the best of some short runs.
double MeasureFmaPeak(const Lease& threads);

}  // namespace hr::bench
