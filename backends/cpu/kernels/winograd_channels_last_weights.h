// The gradient of the weights of winograd_channels_last.h's convolutions: dw = G^T (sum over tiles
// of (B^T x B) . (A dy A^T)) G. Tiles are what the products of each frequency sum over.
//
// Errors, alignment, determinism and scratch memory are as there.
#pragma once

#include <cstddef>

#include "backends/cpu/kernels/gemm_kernels.h"
#include "backends/cpu/kernels/winograd_channels_last.h"
#include "backends/cpu/kernels/winograd_tiles.h"

namespace hr::cpu {

// Takes convolutions of WinogradTakesChannelsLast. Immutable.
class WinogradChannelsLastWeights {
 public:
  WinogradChannelsLastWeights(const ConvShape& shape, WinogradTiling tiling, int slices);

  size_t scratch_bytes() const;
  // All of dw is written.
  void Run(const Lease& threads, const float* x, const float* dy, float* dw, void* scratch) const;

 private:
  int64_t Tiles(int64_t rows) const { return rows * grid_.columns; }
  int64_t frequencies() const { return grid_.frequencies(); }
  int64_t FrequencyElements(int64_t channels) const;
  int64_t LineElements() const;
  int64_t FinishElements() const { return s_.KernelSize() * s_.oc; }
  // A frequency's product in tiles of rows, so that threads can share it.
  int64_t Cuts() const { return CeilDiv(s_.ic, gemm_.rows); }
  void Multiply(int64_t frequency, Range cuts, int64_t tiles, bool first, const WinogradPlanes& x,
                const WinogradPlanes& dy, float* sums) const;
  void Finish(Range channels, const float* sums, float* taps, float* dw) const;

  const GemmKernels<float>& gemm_ = KernelsForGemm<float>();
  const WinogradKernels& kernels_ = KernelsForWinograd();
  const ConvShape s_;
  const int slices_;
  const WinogradGrid grid_;
  int64_t rows_;        // of tiles, of all images
  int64_t block_rows_;  // that are transformed before they are multiplied
};

}  // namespace hr::cpu
