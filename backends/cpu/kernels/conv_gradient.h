// The gradient of a convolution's output, brought back through what the forward pass fused behind
// it.
#pragma once

#include <cstring>

#include "backends/cpu/kernels/conv_batch_blocked.h"
#include "backends/cpu/kernels/conv_kernels.h"

namespace hr::cpu {

// Rows of the gradient: row `first_row` of the first channel is at `data`.
template <typename T>
struct GradientRows {
  const T* data;
  int64_t channel;  // stride
  int64_t first_row;

  const T* Row(int64_t row, int64_t columns) const {
    return data + (row - first_row) * columns * kBatchBlock<T>;
  }
};

template <typename T>
class GradientSource {
 public:
  GradientSource(const ConvShape& shape, const ConvFusion& fusion, const ConvGradient<T>& gradient)
      : s_(shape), fusion_(fusion), gradient_(gradient) {}

  // Elements of a buffer for `rows` rows of one channel.
  static int64_t BufferElements(const ConvShape& shape, const ConvFusion& fusion, int64_t rows) {
    if (!fusion.relu && !fusion.Pools()) return 0;
    const int64_t windows = fusion.pool_h > 1 ? rows / fusion.pool_h + 2 : rows;
    return windows * fusion.pool_h * shape.ow * kBatchBlock<T>;
  }

  // Rows of some channels of one block; in `buffer`, or in place where nothing was fused. `sums`,
  // where not null, has a vector for each channel, to which its pixels are added; the rows are then
  // whole windows.
  GradientRows<T> Rows(int64_t block, Range channels, Range rows, T* buffer, T* sums) const {
    if (!fusion_.relu && !fusion_.Pools()) return InPlace(block, channels, rows, sums);
    const int64_t channel = BufferElements(s_, fusion_, rows.size());
    const Range windows{rows.begin / fusion_.pool_h, CeilDiv(rows.end, fusion_.pool_h)};
    for (int64_t c = channels.begin; c < channels.end; ++c) {
      for (int64_t ph = windows.begin; ph < windows.end; ++ph) {
        const int64_t at = (ph - windows.begin) * fusion_.pool_h * s_.ow * kB;
        const int64_t i = c - channels.begin;
        ExpandRow(block * s_.oc + c, ph, buffer + i * channel + at,
                  sums != nullptr ? sums + i * kB : nullptr);
      }
    }
    return {buffer, channel, windows.begin * fusion_.pool_h};
  }

 private:
  static constexpr int64_t kB = kBatchBlock<T>;

  GradientRows<T> InPlace(int64_t block, Range channels, Range rows, T* sums) const {
    const int64_t plane = s_.OutputPlane() * kB;
    const T* from =
        gradient_.dy + (block * s_.oc + channels.begin) * plane + rows.begin * s_.ow * kB;
    for (int64_t c = 0; sums != nullptr && c < channels.size(); ++c) {
      kernels_.sum_pixels(from + c * plane, rows.size() * s_.ow, sums + c * kB);
    }
    return {from, plane, rows.begin};
  }

  void ExpandRow(int64_t plane, int64_t ph, T* to, T* sums) const {
    const int64_t columns = fusion_.OutputColumns(s_);
    const int64_t rows = fusion_.OutputRows(s_);
    const bool inside = ph < rows;
    const bool covered = inside && columns * fusion_.pool_w == s_.ow;
    if (!covered) std::memset(to, 0, fusion_.pool_h * s_.ow * kB * sizeof(T));
    if (!inside) return;
    const int64_t at = (plane * rows + ph) * columns * kB;
    ExpandCall<T> call;
    call.dy = gradient_.dy + at;
    call.argmax = fusion_.Pools() ? gradient_.argmax + at : nullptr;
    call.y = fusion_.Pools() ? nullptr : gradient_.y + at;
    call.columns = columns;
    call.window_rows = fusion_.pool_h;
    call.window_columns = fusion_.pool_w;
    call.to = to;
    call.to_row = s_.ow * kB;
    call.sums = sums;
    kernels_.expand(call);
  }

  const ConvKernels<T>& kernels_ = KernelsForConv<T>();
  const ConvShape& s_;
  const ConvFusion& fusion_;
  const ConvGradient<T>& gradient_;
};

}  // namespace hr::cpu
