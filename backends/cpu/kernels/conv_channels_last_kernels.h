// The inner loops of conv_channels_last.cc, once per instruction set.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/kernels/conv_phases.h"

namespace hr::cpu {

// Weights of some lanes (output channels of the product) and channels (that it sums over): those of
// lane l, channel c and tap t lie at l * lane + c * channel + taps[t] in the plain tensor, and at
// (t * channels + c) * width + l in a panel.
struct WeightPanel {
  int64_t lanes = 0, channels = 0, width = 0;
  int64_t lane = 0, channel = 0;
  const std::vector<int64_t>* taps = nullptr;
};

template <typename T>
struct ConvChannelsLastKernels {
  // Writes rows [pixels) of the matrix with the channels [channels) of each tap, `stride` elements
  // from a row to the next one.
  void (*gather)(const Gather& gather, const T* image, Range pixels, Range channels, T* to,
                 int64_t stride);
  // From the plain tensor to a panel, whose lanes beyond the last are 0; and back.
  void (*pack)(const WeightPanel& panel, const T* plain, T* packed);
  void (*unpack)(const WeightPanel& panel, const T* packed, T* plain);
  // y = what the epilogue makes of `channels` channels of `pixels` pixels, whose distances are
  // given in elements; `from` may be y. The epilogue's pointers are those of the first pixel.
  void (*finish)(const ConvEpilogue<T>& epilogue, int64_t pixels, int64_t channels, const T* from,
                 int64_t from_stride, T* y, int64_t stride);
};

// The kernels for this CPU.
template <typename T>
const ConvChannelsLastKernels<T>& KernelsForConvChannelsLast();

}  // namespace hr::cpu
