// The inner loops of grouped_channels_last.cc, once per instruction set. What they read are rows of
// an image that were copied with their padding. A pixel of such a row has a term for each channel
// that is summed over: an element that all lanes multiply, or (`spread`) a vector of an element for
// each lane.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "backends/cpu/kernels/conv_phases.h"

namespace hr::cpu {

// Neighbouring pixels of some lanes, which are channels of the result.
template <typename T>
struct GroupedCall {
  int64_t pixels = 0;  // at most as many as the tile; what it reads for others has no meaning
  int64_t lanes = 0;
  const std::vector<int64_t>* lines = nullptr;  // where each begins, from where a pixel reads
  int64_t terms = 0;                            // of a line, one behind the other
  int64_t x_pixel = 0, y_pixel = 0;             // from a pixel to the next one
  const T* weights = nullptr;                   // [line][term][width]
  int64_t width = 0;
};

// Pixels of the gradient of a result, and those that their terms come from.
struct GroupedWeightsCall {
  int64_t rows = 0, columns = 0;
  int64_t x_row = 0, x_column = 0, dy_row = 0, dy_column = 0;
  int64_t lanes = 0, width = 0;
};

// Terms of spread pixels that lie one behind the other: some of a line.
struct TermRun {
  int64_t offset = 0;  // from where a pixel reads
  int64_t first = 0;   // of the terms of all lines
  int64_t count = 0;
};

// Where each lane of a vector finds a term among `channels` channels of a pixel.
template <typename T>
using LaneSource = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

template <typename T>
struct GroupedKernels {
  static constexpr int kTiles = 4, kRuns = 3, kMostOfRun = 5;
  using Sum = void (*)(const GroupedCall<T>& call, const T* x, const ConvEpilogue<T>& epilogue,
                       T* y);
  using AddWeights = void (*)(const GroupedWeightsCall& call, const T* x, const T* dy,
                              int64_t count, T* sums);

  int64_t lanes;            // of a vector
  int64_t tile[2][kTiles];  // pixels (or terms) of tiles of one and two vectors, the largest first
  Sum sum[2][kTiles];       // [vectors - 1]
  Sum sum_spread[kTiles];
  // sums[i][lane] += the sum of x[i] * dy[lane] over all pixels, for `count` terms x that lie one
  // behind the other; what is read of those beyond has no meaning.
  AddWeights add_weights[2][kTiles];
  // The same of spread terms: those of kRuns runs, [count of the longest - 1].
  void (*add_spread_weights[kMostOfRun])(const GroupedWeightsCall& call, const T* x, const T* dy,
                                         const TermRun* runs, T* sums);
  // Makes spread terms of neighbouring pixels, `pixel` elements apart: [pixel][term][lane]. A term
  // has a source for each lane in [begin, end).
  void (*spread)(int64_t channels, const LaneSource<T>* begin, const LaneSource<T>* end, const T* x,
                 int64_t pixel, int64_t pixels, T* to);
};

// The kernels for this CPU.
template <typename T>
const GroupedKernels<T>& KernelsForGrouped();

}  // namespace hr::cpu
