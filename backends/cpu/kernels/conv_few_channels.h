// Forward convolution of images with few channels, plain or channels-last, into channels-last ones:
// the first layer of a network. The lines of the image that a row of the result reads are copied
// with their padding, and tiles of neighbouring pixels are multiplied by the weights from there,
// where each term of the sum lies the same distance apart for all of them. So neither is the image
// converted nor is a matrix gathered, which would take as long as the product.
//
// float and double. Sums have the order of conv_channels_last.h; determinism and memory are as
// there, too.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "backends/cpu/kernels/conv_phases.h"
#include "runtime/base/executor.h"

namespace hr::cpu {

inline bool HasFewChannels(const ConvShape& s) {
  return s.groups == 1 && s.ic <= 8 && !s.HasDepth();
}

// Immutable.
template <typename T>
class ConvFewChannels {
 public:
  // `channels_last`: how x lies in memory. `packed`: the weights come from Pack.
  ConvFewChannels(const ConvShape& shape, bool channels_last, bool packed, int slices);

  size_t scratch_bytes() const;
  void Run(const Lease& threads, const ConvImageMemory<T>& memory, void* scratch) const;

  size_t packed_bytes() const;
  // Equal if the weights that another one has packed serve as well.
  std::string packed_format() const;
  // Panels of lanes: [term][lane].
  void Pack(const Lease& threads, const T* weights, T* packed) const;

 private:
  int64_t terms() const { return s_.Taps(); }
  int64_t panels() const { return CeilDiv(s_.oc, width_); }
  int64_t LinesElements() const { return lines_ * line_; }
  void CopyLines(const T* image, int64_t row, T* to) const;
  void RunRow(const ConvImageMemory<T>& memory, const T* weights, int64_t row,
              const T* lines) const;

  const ConvShape s_;
  const bool channels_last_, packed_;
  const int slices_;
  const Gather gather_;
  int64_t width_;                 // lanes of a panel
  int64_t lines_, line_;          // copied for a row; elements of one
  int64_t step_;                  // from what a pixel reads to what the next one reads
  std::vector<int64_t> offsets_;  // of the terms, from where a pixel reads
};

}  // namespace hr::cpu
