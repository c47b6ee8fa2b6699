// What the three passes of Winograd convolution share: the grid of tiles, and the products of one
// frequency.
#pragma once

#include "backends/cpu/kernels/conv_kernels.h"
#include "backends/cpu/kernels/conv_shape.h"
#include "backends/cpu/kernels/winograd_kernels.h"

namespace hr::cpu {

// The tiles of one image. Tile t of an axis makes outputs [t * outputs, (t + 1) * outputs) of
// inputs that begin at t * outputs - padding; what lies outside the image is zero, outputs beyond
// the last are dropped.
struct WinogradGrid {
  const ConvShape& s;
  const WinogradTiling tiling;
  const WinogradAxis &row_axis, &column_axis;
  int64_t row_outputs, column_outputs;
  int64_t rows, columns;  // of tiles
  int64_t y_columns;      // that a row of tiles makes
  int64_t x_columns;      // that it takes, padding included
  Range inside;           // those of the latter that exist

  explicit WinogradGrid(const ConvShape& shape, WinogradTiling size = WinogradTiling::kLarge)
      : s(shape),
        tiling(size),
        row_axis(WinogradAxisFor(s.kh, tiling)),
        column_axis(WinogradAxisFor(s.kw, tiling)),
        row_outputs(row_axis.Outputs(s.kh)),
        column_outputs(column_axis.Outputs(s.kw)),
        rows(CeilDiv(s.oh, row_outputs)),
        columns(CeilDiv(s.ow, column_outputs)),
        y_columns(columns * column_outputs),
        x_columns(y_columns + s.kw - 1),
        inside{std::min(s.pad_left, x_columns), std::min(s.pad_left + s.iw, x_columns)} {}

  int64_t frequencies() const { return int64_t{row_axis.tile} * column_axis.tile; }

  // Tile rows that a pass takes at once, at most `most`: one vertical frequency of `channels`
  // channels should stay in half of a small L2 cache.
  int64_t RowsAtOnce(int64_t channels, int64_t most) const {
    constexpr int64_t kFrequencyBytes = 256 << 10;
    constexpr int64_t kPixelBytes = kBatchBlock<float> * sizeof(float);
    const int64_t row_bytes = column_axis.tile * channels * columns * kPixelBytes;
    return std::clamp<int64_t>(kFrequencyBytes / row_bytes, 1, most);
  }

  // Rows of the input plane `x` that vertical frequency i of a tile row takes; `pixel` elements for
  // each column.
  WinogradRows InputRows(const float* x, int64_t tile_row, int i,
                         int64_t pixel = kBatchBlock<float>) const {
    WinogradRows out;
    const WinogradAxis::Span pixels = row_axis.Pixels(i);
    const int64_t top = tile_row * row_outputs - s.pad_top;
    const float* const factors = row_axis.input[i];
    for (int r = pixels.begin; r < pixels.end; r += pixels.step) {
      const int64_t row = top + r;
      if (row < 0 || row >= s.ih) continue;
      out.Add(x + row * s.iw * pixel, factors[r]);
    }
    return out;
  }

  // Rows of outputs that it makes, of those of a plane whose row `first` is at `y` and that ends
  // before row `end`; `width` columns of `pixel` elements apart.
  WinogradRows OutputRows(const float* y, int64_t first, int64_t end, int64_t width,
                          int64_t tile_row, int i, int64_t pixel = kBatchBlock<float>) const {
    WinogradRows out;
    for (int64_t r = 0; r < row_outputs; ++r) {
      const int64_t row = tile_row * row_outputs + r;
      if (row >= end) break;
      out.Add(y + (row - first) * width * pixel, row_axis.Output(i, r, row_outputs));
    }
    return out;
  }
};

// Products that are summed one after the other, of `count`; such sums are then added. Errors grow
// with the length of a sum, and more in the larger tile (winograd_axis.h).
inline int64_t WinogradChain(const WinogradAxis& rows, const WinogradAxis& columns, int64_t count) {
  const int64_t longest = std::max(rows.tile, columns.tile) <= kWinogradSix.tile ? 64 : 28;
  return CeilDiv(count, CeilDiv(count, longest));
}

// Transformed filters: frequency (i, j) is a matrix [rows][columns] of output and input channels,
// or the other way around.
class WinogradFilterBank {
 public:
  enum class Order { kOutputsFirst, kInputsFirst };

  WinogradFilterBank(const ConvShape& shape, Order order)
      : s_(shape),
        order_(order),
        row_tile_(WinogradAxisFor(s_.kh).tile),
        column_tile_(WinogradAxisFor(s_.kw).tile),
        plane_(RoundUp(shape.oc * shape.ic, kBatchBlock<float>)),
        chain_(WinogradChain(WinogradAxisFor(s_.kh), WinogradAxisFor(s_.kw), columns())) {}

  int64_t Elements() const { return row_tile_ * column_tile_ * plane_; }
  int64_t columns() const { return order_ == Order::kOutputsFirst ? s_.ic : s_.oc; }

  void Transform(const Lease& threads, const float* w, int slices, float* to) const {
    const int64_t taps = s_.kh * s_.kw, vectors = plane_ / kBatchBlock<float>;
    const bool outputs_first = order_ == Order::kOutputsFirst;
    threads.ParallelFor(slices, [&](int slice) {
      const Range part = PartOf(vectors, slices, slice);
      WinogradFilters call{.w = w, .columns = columns()};
      call.w_a = outputs_first ? s_.ic * taps : taps;
      call.w_b = outputs_first ? taps : s_.ic * taps;
      call.count = s_.oc * s_.ic;
      call.kernel_rows = s_.kh;
      call.kernel_columns = s_.kw;
      call.to = to;
      call.plane = plane_;
      call.begin = part.begin * kBatchBlock<float>;
      call.end = part.end * kBatchBlock<float>;
      KernelsForWinograd().filters(call);
    });
  }

  // Frequency (i, j) of some rows of the bank at `filters`, times `from`: for every horizontal
  // frequency j, columns() rows of `tiles` pixels; `to`: rows.size() rows.
  void Multiply(const float* filters, int i, Range rows, const float* from, int64_t tiles,
                float* to) const {
    const auto& kernels = KernelsForConv<float>();
    ForwardCall<float> call{};
    call.x_tap = tiles * kBatchBlock<float>;
    call.x_column = kBatchBlock<float>;
    call.channels = call.rows = 1;
    call.w_output = columns();
    call.y_output = tiles * kBatchBlock<float>;
    for (int j = 0; j < column_tile_; ++j) {
      const float* x = from + j * columns() * call.x_tap;
      const float* w = filters + (i * column_tile_ + j) * plane_ + rows.begin * columns();
      for (int64_t begin = 0; begin < columns(); begin += chain_) {
        call.x = x + begin * call.x_tap;
        call.y = to + j * rows.size() * call.x_tap;
        call.w = w + begin;
        call.taps = std::min(chain_, columns() - begin);
        call.add = begin > 0;
        ForwardColumns(kernels, static_cast<int>(rows.size()), call, tiles);
      }
    }
  }

 private:
  const ConvShape& s_;
  const Order order_;
  const int row_tile_, column_tile_;
  const int64_t plane_;
  const int64_t chain_;
};

}  // namespace hr::cpu
