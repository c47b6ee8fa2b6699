// Forward convolution of channels-last images with a kernel along one axis (5 x 1, 1 x 3: signals,
// text) by Winograd's minimal filtering: tile + 1 - taps outputs of `tile` products of each pair of
// channels (winograd_axis.h), 8 instead of 20 for 4 outputs of a kernel of 5. Tiles become rows of
// matrices, one for each frequency, which are multiplied by those of the weights. A pixel that is
// not finite makes its whole tile NaN.
//
// Rounding errors (rms of the error / rms of the result) are at most 8 times those of a direct sum
// that adds up the sums of 16 channels each. float only. Alignment, determinism and scratch memory
// are as in conv_channels_last.h.
#pragma once

#include <cstddef>
#include <string>

#include "backends/cpu/kernels/conv_phases.h"
#include "backends/cpu/kernels/gemm_kernels.h"
#include "backends/cpu/kernels/winograd_axis.h"
#include "backends/cpu/kernels/winograd_kernels.h"

namespace hr::cpu {

// Whether a line takes that convolution, and is expected to be faster than a direct sum with
// weights that are packed once: stride and dilation 1, one group, 3 to 7 taps, whole vectors of
// channels.
bool WinogradLinePays(const ConvShape& shape);

// Immutable. Weights come from Pack.
class WinogradLine {
 public:
  WinogradLine(const ConvShape& shape, int slices);

  size_t scratch_bytes() const;
  void Run(const Lease& threads, const ConvImageMemory<float>& memory, void* scratch) const;

  size_t packed_bytes() const;
  // Equal if the weights that another one has packed serve as well.
  std::string packed_format() const;
  void Pack(const Lease& threads, const float* weights, float* packed) const;

  // Tiles of all lines, and multiply-adds for a pair of channels in each.
  int64_t tiles() const { return rows_; }
  int64_t tile() const { return axis_.tile; }

 private:
  // Memory of some tiles: pixels' frequencies [frequency][tile][channel], products
  // [frequency][tile][lane].
  int64_t FrequencyElements(int64_t tiles) const { return axis_.tile * tiles * row_stride_; }
  int64_t ProductElements() const;
  int64_t Pixel(int64_t line, int64_t size) const;
  int64_t ScratchElements() const;
  bool CutsTiles() const;
  void Transform(Range tiles, int64_t first, int64_t plane, const float* image, float* to) const;
  void Multiply(Range tiles, Range panels, const float* pixels, int64_t first, int64_t plane,
                const ConvImageMemory<float>& memory, float* products) const;
  void Finish(Range tiles, Range panels, const ConvImageMemory<float>& memory,
              const float* products) const;
  float* PackedAt(float* packed, int64_t panel, int64_t frequency) const;

  const GemmKernels<float>& gemm_ = KernelsForGemm<float>();
  const WinogradKernels& kernels_ = KernelsForWinograd();
  const ConvShape s_;
  const int slices_;
  int64_t taps_, pad_, across_;  // of the axis; pixels from one of a line to the next one
  int64_t in_, out_;             // pixels of a line
  const WinogradAxis& axis_;
  int64_t outputs_, line_tiles_, rows_;
  int64_t width_, panels_;  // lanes of a panel
  int64_t whole_,
      group_;  // panels that fill what transforms take at once; that are finished at once
  int64_t row_stride_;
};

}  // namespace hr::cpu
