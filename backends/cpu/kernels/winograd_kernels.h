// The inner loops of Winograd convolution, once per instruction set. Y = A^T ((G g G^T) . (B^T d
// B)) A (winograd_axis.h). Vertical transforms go row by row: the passes loop over the vertical
// frequencies, so that only one of them needs to be in the caches; horizontal ones are here. A
// "pixel" is a vector of kBatchBlock<float> images or channels; strides are in elements.
#pragma once

#include <array>
#include <cstdint>

#include "backends/cpu/kernels/batch_blocked.h"
#include "backends/cpu/kernels/winograd_axis.h"

namespace hr::cpu {

// Tiles of one row: `step` columns apart in the row, `tile` elements in each of the frequencies,
// that lie `plane` elements apart. A column has `column` elements, whole pixels.
struct WinogradTiles {
  int64_t tiles, step, plane;
  int64_t column = kBatchBlock<float>, tile = kBatchBlock<float>;
};

// Some of a plane's rows with what each is multiplied by.
struct WinogradRows {
  int count = 0;
  std::array<float, kWinogradMaxTile> factors{};
  std::array<float*, kWinogradMaxTile> rows{};

  void Add(const float* row, float factor) {
    if (factor == 0) return;
    factors[count] = factor;
    rows[count++] = const_cast<float*>(row);
  }
};

// Transforms filters q = a * columns + b in [begin, end): w + a * w_a + b * w_b is the filter's
// first tap, or its last one if it is turned by half a turn. Frequency (i, j) of filter q goes to
// to[(i * column tile + j) * plane + q]; plane and begin are multiples of kBatchBlock<float>,
// filters from `count` on are zero.
struct WinogradFilters {
  const float* w;
  int64_t columns, w_a, w_b, count;
  int64_t kernel_rows, kernel_columns;
  WinogradTiling tiling = WinogradTiling::kLarge;
  bool turned = false;
  float* to;
  int64_t plane, begin, end;
};

// Adds what the gradients of vertical frequency i, from[j * plane + q], bring to those of the taps:
// to[(r * kernel_columns + s) * count + q], q < count.
struct WinogradFilterGradient {
  int frequency;
  const float* from;
  int64_t plane, count;
  int64_t kernel_rows, kernel_columns;
  float* to;
  WinogradTiling tiling = WinogradTiling::kLarge;
};

// The transforms along a row, for kernels of so many columns.
struct WinogradRowKernels {
  // B^T: pixels to frequencies.
  void (*input)(const WinogradTiles& tiles, const float* from, float* to);
  // B: frequencies to pixels, which are added to, as tiles overlap.
  void (*input_gradient)(const WinogradTiles& tiles, const float* from, float* to);
  // A^T: frequencies to outputs.
  void (*output)(const WinogradTiles& tiles, const float* from, float* to);
  // A: outputs to frequencies.
  void (*output_gradient)(const WinogradTiles& tiles, const float* from, float* to);
};

struct WinogradKernels {
  // to = sum of the rows, each times its factor; zero where there are none.
  void (*combine)(const WinogradRows& rows, int64_t pixels, float* to);
  // Every row += its factor * from.
  void (*spread)(const float* from, int64_t pixels, const WinogradRows& rows);
  WinogradRowKernels row[kWinogradMaxKernel + 1];  // [kernel columns], of large tiles
  WinogradRowKernels small_row;
  const WinogradRowKernels& RowOf(int64_t kernel_columns, WinogradTiling tiling) const {
    return tiling == WinogradTiling::kSmall ? small_row : row[kernel_columns];
  }
  void (*filters)(const WinogradFilters& call);
  void (*filter_gradient)(const WinogradFilterGradient& call);
  // y = from, or max(0, from).
  void (*copy)(const float* from, int64_t pixels, bool relu, float* y);
};

// The kernels for this CPU.
const WinogradKernels& KernelsForWinograd();

}  // namespace hr::cpu
