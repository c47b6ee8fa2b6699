// The inner loops of batch-blocked convolution and pooling, once per instruction set. Strides are
// in elements. A vector is (part of) the B images of one pixel: "column" and "tap" strides are
// multiples of B = kBatchBlock<T>.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backends/cpu/kernels/batch_blocked.h"
#include "backends/cpu/kernels/sum_parts.h"

namespace hr::cpu {

// argmax of a pooled element whose gradient goes nowhere (ReLU blocked it, or its window was
// empty).
inline constexpr uint8_t kNoGradient = 255;

// y[o][j] = bias[o] + sum over channels, rows and taps of w * x, for `columns` output columns of
// one row; or that sum is added to y[o][j].
template <typename T>
struct ForwardCall {
  const T* x;
  int64_t x_channel, x_row, x_tap, x_column;
  int64_t channels, rows, taps;
  const T* w;
  int64_t w_output, w_channel, w_row;
  const T* bias;  // may be null
  T* y;
  int64_t y_output;  // columns of y are adjacent
  int64_t columns;   // a multiple of the tile's
  bool relu;
  bool add;  // to y; without bias
};

// Returns how many channels, each of so many terms, a part of a sum has at most (sum_parts.h).
inline int64_t ChannelsOfPart(int64_t terms) {
  return std::max<int64_t>(1,
                           std::min<int64_t>(64, kMostTermsOfPart / std::max<int64_t>(1, terms)));
}

// dx[c][(j + s) * dx_column] += sum over outputs and rows of w[c][s] * dy[j], for `columns` columns
// of dy and the taps s of the kernel.
template <typename T>
struct DataCall {
  const T* dy;
  int64_t dy_output, dy_row;
  int64_t outputs, rows;
  const T* w;
  int64_t w_output, w_row, w_channel;
  T* dx;
  int64_t dx_channel, dx_column;
};

// sums[o][k] += sum over rows and columns of dy[o] * x[taps[k]], lane by lane.
template <typename T>
struct WeightsCall {
  const T* x;
  const int64_t* taps;  // offsets into x
  int64_t x_row, x_column;
  const T* dy;
  int64_t dy_output, dy_row;  // columns of dy are adjacent
  int64_t rows, columns;
  T* sums;
  int64_t sums_output;  // sums of one output are adjacent
};

// One row of gradients of one channel on its way back through ReLU and non-overlapping max pooling.
template <typename T>
struct ExpandCall {
  const T* dy;
  const uint8_t* argmax;  // null: no pooling, the window is 1 x 1
  const T* y;             // not null: dy passes where y > 0
  int64_t columns, window_rows, window_columns;
  T* to;
  int64_t to_row;
  T* sums;  // not null: lane by lane, what passes is added here
};

// Windows of one row of one channel that all read the same taps.
template <typename T>
struct PoolCall {
  const T* x;  // the first window's first tap that exists
  int64_t x_row, x_tap, x_column;
  int64_t rows, taps;
  int64_t index, index_row;  // of that tap in the window, and between rows
  int64_t columns;
  T* y;
  uint8_t* argmax;  // may be null
  T scale;          // average pooling
  bool relu;        // max pooling
};

template <typename T>
struct ConvKernels {
  static constexpr int kMaxOutputs = 6, kMaxChannels = 4;
  static constexpr int kWidths[] = {4, 1};   // columns of a tile
  static constexpr int kTaps[] = {5, 3, 1};  // taps of a tile

  int forward_outputs;
  void (*forward[kMaxOutputs][2])(const ForwardCall<T>&);  // [outputs - 1][width]
  int data_channels[3];                                    // [taps]
  void (*data[3][kMaxChannels][2])(const DataCall<T>&);    // [taps][channels - 1][width]
  int weights_outputs;
  void (*weights[kMaxOutputs][3])(const WeightsCall<T>&);  // [outputs - 1][taps]

  // to[i] = sum of the B lanes of from[i].
  void (*sum_lanes)(const T* from, int64_t count, T* to);
  // sums[lane] += the lanes of adjacent pixels.
  void (*sum_pixels)(const T* from, int64_t pixels, T* sums);
  void (*expand)(const ExpandCall<T>&);
  void (*max_pool)(const PoolCall<T>&);
  void (*average_pool)(const PoolCall<T>&);
  // The calls' y and argmax are read, x is added to.
  void (*max_pool_backward)(const PoolCall<T>&, T* dx);
  void (*average_pool_backward)(const PoolCall<T>&, T* dx);
};

// The kernels for this CPU.
template <typename T>
const ConvKernels<T>& KernelsForConv();

// `columns` columns of y in tiles. Changes x, y and columns of the call: copying it would cost as
// much as a small product.
template <typename T>
void ForwardColumns(const ConvKernels<T>& kernels, int outputs, ForwardCall<T>& call,
                    int64_t columns) {
  constexpr int64_t kWide = ConvKernels<T>::kWidths[0];
  static_assert(ConvKernels<T>::kWidths[1] == 1);
  call.columns = columns / kWide * kWide;
  if (call.columns > 0) kernels.forward[outputs - 1][0](call);
  call.x += call.columns * call.x_column;
  call.y += call.columns * kBatchBlock<T>;
  call.columns = columns - call.columns;
  if (call.columns > 0) kernels.forward[outputs - 1][1](call);
}

}  // namespace hr::cpu
