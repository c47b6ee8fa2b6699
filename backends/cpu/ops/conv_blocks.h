// A convolution as products of filters by columns of the image: all filters of a group at some
// pixels make a block. For numbers of few bits, of which a product costs less than a window does.
#pragma once

#include <algorithm>

#include "backends/cpu/kernels/im2col.h"

namespace hr::cpu {

struct ConvBlocks {
  // Pixels of which columns are made at once.
  static constexpr int64_t kPixels = 128;

  struct Block {
    int64_t input;   // where the group's first channel begins
    int64_t filter;  // the group's first
    int64_t output;  // the place of that filter's first pixel in the block
    Range pixels;
  };

  ConvShape s;

  int64_t OfAnImage() const { return CeilDiv(s.OutputPlane(), kPixels); }
  int64_t count() const { return s.n * s.groups * OfAnImage(); }
  Block At(int64_t index) const {
    const int64_t group = index / OfAnImage() % s.groups, image = index / OfAnImage() / s.groups;
    const int64_t first = index % OfAnImage() * kPixels, filter = group * s.GroupOut();
    return {.input = (image * s.ic + group * s.GroupIn()) * s.InputPlane(),
            .filter = filter,
            .output = (image * s.oc + filter) * s.OutputPlane() + first,
            .pixels = {first, std::min(s.OutputPlane(), first + kPixels)}};
  }
  // Threads worth waking.
  int Tasks(int slices) const {
    const int64_t work = s.n * s.oc * s.OutputPlane() * s.Taps() >> 16;
    return static_cast<int>(std::clamp<int64_t>(std::min(work, count()), 1, slices));
  }
  // The columns are the image itself.
  bool is_pointwise() const {
    return s.KernelSize() == 1 && s.sd == 1 && s.sh == 1 && s.sw == 1 &&
           s.OutputPlane() == s.InputPlane();
  }
};

}  // namespace hr::cpu
