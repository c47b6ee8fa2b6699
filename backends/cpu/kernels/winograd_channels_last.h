// Convolution of channels-last images by Winograd's minimal filtering, forward and the gradient of
// the images: 36 multiplications where a direct 3 x 3 kernel needs 144 (in small tiles 16 where it
// needs 36), 64 where a 5 x 5 kernel needs 400 (winograd_axis.h has the matrices). Vector lanes are
// channels. Tiles become rows of matrices, one for each frequency, which are multiplied by those of
// the weights. A pixel that is not finite makes its whole tile NaN.
//
// Rounding errors are those of winograd.h. float only. Alignment, determinism and scratch memory
// are as in conv_channels_last.h.
#pragma once

#include <cstddef>
#include <string>

#include "backends/cpu/kernels/conv_phases.h"
#include "backends/cpu/kernels/gemm_kernels.h"
#include "backends/cpu/kernels/winograd_method.h"
#include "backends/cpu/kernels/winograd_tiles.h"

namespace hr::cpu {

// Memory of tiles' frequencies, [frequency][tile][channel].
struct WinogradPlanes {
  float* data;
  int64_t row;    // from a tile to the next one
  int64_t plane;  // from a frequency to the next one
};
// The frequencies of some rows of tiles, those of row `first` at the beginning: of their pixels
// B^T d B, or of the gradients of their outputs A dy A^T. `line` has room for a row of pixels.
enum class WinogradSide : uint8_t { kInput, kOutputGradient };
void TransformChannelsLast(const WinogradGrid& grid, WinogradSide side, Range rows, int64_t first,
                           const float* image, float* line, const WinogradPlanes& to);

// One pass that makes an image, of a convolution of WinogradTakesChannelsLast. Immutable.
class WinogradChannelsLast {
 public:
  // `method`: if packed, the weights come from Pack.
  WinogradChannelsLast(const ConvShape& shape, ImagePass pass, const WinogradMethod& method,
                       int slices);

  size_t scratch_bytes() const;
  void Run(const Lease& threads, const ConvImageMemory<float>& memory, void* scratch) const;

  size_t packed_bytes() const;
  // Equal if the weights that another one has packed serve as well.
  std::string packed_format() const;
  void Pack(const Lease& threads, const float* weights, float* packed) const;

 private:
  // What a thread works in.
  struct Memory {
    float* line;      // pixels of a row, zero outside of the image
    float* products;  // [frequency][tile][lane]
    float* lines;     // [vertical frequency][column][lane], and a row of the result
    float* filters;   // [frequency][channel][lane] of a block
  };

  int64_t Tiles(int64_t rows) const { return rows * grid_.columns; }
  int64_t frequencies() const { return grid_.frequencies(); }
  int64_t FrequencyElements(int64_t rows) const { return frequencies() * Tiles(rows) * row_; }
  int64_t MemoryElements() const;
  int64_t ScratchElements() const;
  Memory MemoryAt(float* at) const;
  int64_t Columns(int64_t panel) const { return std::min(width_, s_.oc - panel * width_); }
  // From a frequency of some channels of a panel to the next one; not a multiple of 4 KiB, on the
  // same lines of L1.
  static int64_t PanelStride(int64_t channels, int64_t columns) {
    return RoundUp(channels * columns, kBatchBlock<float>) + kBatchBlock<float>;
  }
  void PackFilters(const float* weights, int64_t panel, Range channels, Range vectors,
                   float* to) const;
  float* PackedAt(float* packed, int64_t panel, int64_t frequency) const;
  int64_t groups() const { return CeilDiv(s_.oc, lanes_); }
  void RunAlone(const Lease& threads, const ConvImageMemory<float>& memory, float* scratch) const;
  void RunTogether(const Lease& threads, const ConvImageMemory<float>& memory,
                   float* scratch) const;
  void MultiplyBlocks(Range rows, Range groups, const float* pixels, int64_t first, int64_t plane,
                      const ConvImageMemory<float>& memory, const Memory& own) const;
  void MultiplyPacked(Range rows, int64_t panel, const float* pixels, int64_t plane,
                      const float* weights, float* products) const;
  void MultiplyPacking(Range rows, int64_t panel, const float* pixels, int64_t plane,
                       const float* weights, float* products, float* filters) const;
  void Multiply(int64_t tiles, Range channels, int64_t columns, const float* pixels,
                const float* filters, float* products) const;
  void Finish(Range rows, Range lanes, const ConvImageMemory<float>& memory,
              const Memory& own) const;

  const GemmKernels<float>& gemm_ = KernelsForGemm<float>();
  const WinogradKernels& kernels_ = KernelsForWinograd();
  const ConvShape s_;  // of a forward pass that computes the same
  const ImagePass pass_;
  const bool packed_;
  const int slices_;
  const WinogradGrid grid_;
  int64_t rows_;           // of tiles, of all images
  int64_t block_rows_;     // that are multiplied at a time
  int64_t row_;            // from a tile to the next one in a frequency
  int64_t width_, lanes_;  // of a panel; of panels that are finished at once
  int64_t chain_;          // channels that are summed one after the other
  bool cuts_tiles_;        // for threads; else the channels of the result, before tiles
  // Threads transform some pixels each, and read those of all. Few pixels each of them transforms
  // for itself: that takes less than to get them from the cache of another core.
  bool shares_pixels_;
  // Filters are transformed where they are multiplied, a block of a panel at a time, so that they
  // stay in L2: where they are more than the pixels.
  bool packs_blocks_;
};

}  // namespace hr::cpu
