// The inner loops of Winograd convolution, once per instruction set. Y = A^T ((G g G^T) . (B^T d
// B)) A for tiles of 8 x 8 (Lavin and Gray's names). Vertical transforms go row by row: the passes
// loop over the 8 vertical frequencies, so that only one of them needs to be in the caches;
// horizontal ones are here. A "pixel" is a vector of kBatchBlock<float> images; strides are in
// elements.
#pragma once

#include <array>
#include <cstdint>

#include "backends/cpu/kernels/batch_blocked.h"

namespace hr::cpu {

inline constexpr int kWinogradTile = 8;
inline constexpr int kWinogradMinKernel = 3, kWinogradMaxKernel = 7;
// Outputs of a tile along one axis.
constexpr int64_t WinogradOutputs(int64_t kernel) { return kWinogradTile + 1 - kernel; }

struct WinogradPoint {
  float at;     // not for infinity
  float scale;  // of its row of G
};

// The point of every frequency but the last, which is infinity.
inline constexpr WinogradPoint kWinogradPoints[kWinogradTile - 1] = {
    {0, -1},         {1, -2.0F / 9},     {-1, -2.0F / 9},    {2, 1.0F / 90},
    {-2, 1.0F / 90}, {0.5F, 32.0F / 45}, {-0.5F, 32.0F / 45}};

// One row of B^T: what a frequency takes of the 8 pixels of a tile.
inline constexpr float kWinogradInput[kWinogradTile][kWinogradTile] = {
    {-1, 0, 5.25F, 0, -5.25F, 0, 1, 0},        {0, 1, 1, -4.25F, -4.25F, 1, 1, 0},
    {0, -1, 1, 4.25F, -4.25F, -1, 1, 0},       {0, 0.5F, 0.25F, -2.5F, -1.25F, 2, 1, 0},
    {0, -0.5F, 0.25F, 2.5F, -1.25F, -2, 1, 0}, {0, 2, 4, -2.5F, -5, 0.5F, 1, 0},
    {0, -2, 4, 2.5F, -5, -0.5F, 1, 0},         {0, -1, 0, 5.25F, 0, -5.25F, 0, 1}};

// A[frequency][output] of a tile with `outputs` outputs, and G[frequency][tap].
constexpr float WinogradOutputFactor(int frequency, int64_t output, int64_t outputs) {
  if (frequency == kWinogradTile - 1) return output == outputs - 1 ? 1.0F : 0.0F;
  float power = 1;
  for (int64_t i = 0; i < output; ++i) power *= kWinogradPoints[frequency].at;
  return power;
}
constexpr float WinogradFilterFactor(int frequency, int64_t tap, int64_t taps) {
  const float scale = frequency == kWinogradTile - 1 ? 1.0F : kWinogradPoints[frequency].scale;
  return scale * WinogradOutputFactor(frequency, tap, taps);
}

// Tiles of one row: `step` pixels apart in the row, adjacent in each of the 8 frequencies, that lie
// `plane` elements apart.
struct WinogradTiles {
  int64_t tiles, step, plane;
};

// Some of a plane's rows with what each is multiplied by.
struct WinogradRows {
  int count = 0;
  std::array<float, kWinogradTile> factors{};
  std::array<float*, kWinogradTile> rows{};

  void Add(const float* row, float factor) {
    if (factor == 0) return;
    factors[count] = factor;
    rows[count++] = const_cast<float*>(row);
  }
};

// Transforms filters q = a * columns + b in [begin, end): w + a * w_a + b * w_b is the filter's
// first tap. Frequency (i, j) of filter q goes to to[(i * 8 + j) * plane + q]; plane and begin are
// multiples of kBatchBlock<float>, filters from `count` on are zero.
struct WinogradFilters {
  const float* w;
  int64_t columns, w_a, w_b, count;
  int64_t kernel_rows, kernel_columns;
  float* to;
  int64_t plane, begin, end;
};

// Adds what the gradients of vertical frequency i, from[j * plane + q], bring to those of the taps:
// to[(r * kernel_columns + s) * plane + q].
struct WinogradFilterGradient {
  int frequency;
  const float* from;
  int64_t plane;
  int64_t kernel_rows, kernel_columns;
  float* to;
};

struct WinogradKernels {
  // to = sum of the rows, each times its factor; zero where there are none.
  void (*combine)(const WinogradRows& rows, int64_t pixels, float* to);
  // Every row += its factor * from.
  void (*spread)(const float* from, int64_t pixels, const WinogradRows& rows);
  // B^T: pixels to frequencies.
  void (*input)(const WinogradTiles& tiles, const float* from, float* to);
  // B: frequencies to pixels, which are added to, as tiles overlap.
  void (*input_gradient)(const WinogradTiles& tiles, const float* from, float* to);
  // A^T and A, by outputs of a tile.
  void (*output[kWinogradTile])(const WinogradTiles& tiles, const float* from, float* to);
  void (*output_gradient[kWinogradTile])(const WinogradTiles& tiles, const float* from, float* to);
  void (*filters)(const WinogradFilters& call);
  void (*filter_gradient)(const WinogradFilterGradient& call);
  // y = from, or max(0, from).
  void (*copy)(const float* from, int64_t pixels, bool relu, float* y);
};

// The kernels for this CPU.
const WinogradKernels& KernelsForWinograd();

}  // namespace hr::cpu
