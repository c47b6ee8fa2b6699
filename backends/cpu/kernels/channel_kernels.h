// Passes over elements of one channel, for the normalization of channels, once per instruction set.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/moments.h"

namespace hr::cpu {

// Runs of `length` elements, `stride` apart.
struct ChannelRuns {
  int64_t runs = 0, stride = 0, length = 0;
};

// Of one channel: a normalized element is (x - mean) factor + bias.
template <typename T>
struct ChannelLine {
  T mean, factor, bias;
};

// Where a ReLU follows ([1]), d is dy where the normalized element is above 0, and else 0; without
// one it is dy.
template <typename T>
struct ChannelKernels {
  Moments (*moments)(const T* x, const ChannelRuns& runs);
  // y = the normalized elements, plus those of the residual unless it is null.
  void (*normalize[2])(const T* x, const ChannelRuns& runs, const ChannelLine<T>& line,
                       const T* residual, T* y);
  // The sums of d and of d (x - mean).
  void (*dots[2])(const T* dy, const T* x, const ChannelRuns& runs, const ChannelLine<T>& line,
                  T sums[2]);
  // dx = (d - share - (x - mean) slope) factor
  void (*gradient[2])(const T* dy, const T* x, const ChannelRuns& runs, const ChannelLine<T>& line,
                      T share, T slope, T* dx);
};

template <typename T>
const ChannelKernels<T>& KernelsForChannels();

}  // namespace hr::cpu
