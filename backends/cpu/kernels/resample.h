// One axis of a tensor as sums of weighted elements of another size of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/cpu/kernels/partition.h"
#include "runtime/base/executor.h"

namespace hr::cpu {

// Of [outer, in, inner] numbers: line o is the sum over t of weight[o * taps + t] times line
// index[o * taps + t], or a constant if filled[o].
template <typename T>
struct Resample {
  int64_t outer = 1, in = 1, out = 1, inner = 1;
  int64_t taps = 1;
  std::vector<int64_t> index;
  std::vector<T> weight;
  std::vector<uint8_t> filled;
  T fill = 0;
};

template <typename T>
void ResampleLines(const Lease& threads, const Resample<T>& r, const T* x, T* y, int slices);
// dx from dy; constants have no gradient.
template <typename T>
void ResampleLinesBackward(const Lease& threads, const Resample<T>& r, const T* dy, T* dx,
                           int slices);
// One tap of weight 1, for elements of any type; `fill` has their size.
void CopyLines(const Lease& threads, const Resample<double>& r, size_t bytes, const void* x,
               const void* fill, void* y, int slices);

}  // namespace hr::cpu
