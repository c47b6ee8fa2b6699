// A convolution on numbers of bfloat16, or a gradient of one with respect to its image, as products
// of matrices: the windows of the frame's outputs (conv_frame.h) are rows of A, and each is made of
// some spans of numbers that lie together.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "backends/cpu/kernels/conv_frame.h"

namespace hr::cpu {

// The shape of the same convolution with fewer axes, if it reads single pixels.
ConvShape FlattenedIfPointwise(const ConvShape& shape);
// The same, and all images are one whose rows are pixels.
ConvShape InOneImage(const ConvShape& shape);

// The spans that combinations of taps read, neighbours together: their offsets, and the taps' place
// in the kernel. `k` gets the numbers of a span.
struct ConvSpans {
  std::vector<int64_t> offsets, taps;
  int64_t k = 0;
};
ConvSpans SpansOf(const ConvFrame& frame, const ConvShape& shape,
                  const std::array<int64_t, 3>& phase);

class ConvWindows {
 public:
  // Outputs that are made by the same taps: all, or those of one phase of a gradient's strides.
  struct Phase {
    std::array<int64_t, 3> first = {}, count = {};  // along the axes of the result
    ConvSpans spans;
  };

  ConvWindows(const ConvShape& shape, ImagePass pass, const FrameLimits& limits, int slices);

  const ConvFrame& frame() const { return frame_; }
  const std::vector<Phase>& phases() const { return phases_; }
  int64_t plane() const { return sizes_[0] * sizes_[1] * sizes_[2]; }  // of the result
  int64_t step() const { return steps_[2]; }  // pixels from an output of a row to the next one

  // Calls body(pixel among those of all images, outputs, the first one's place) for outputs among
  // the places, as many at a time as lie one behind the other.
  template <typename Body>
  void ForOutputs(const ConvFrame::Unit& unit, const Phase& phase, Range places,
                  const Body& body) const;

 private:
  const ConvFrame frame_;
  std::array<int64_t, 3> sizes_, steps_;  // of the result's axes
  std::vector<Phase> phases_;
};

template <typename Body>
void ConvWindows::ForOutputs(const ConvFrame::Unit& unit, const Phase& phase, Range places,
                             const Body& body) const {
  const int64_t width = frame_.columns(), height = frame_.rows(), depth = frame_.depths();
  const int64_t rows = std::min(unit.rows.size(), phase.count[1] - unit.rows.begin);
  const bool whole_rows = width == sizes_[2] && steps_[2] == 1 && steps_[1] == 1;
  for (int64_t place = places.begin; place < places.end;) {
    const int64_t w = place % width, h = place / width % height;
    const int64_t d = place / (width * height) % depth, n = place / (width * height * depth);
    const int64_t left = (whole_rows ? height - h : 1) * width - w;
    if (d < phase.count[0] && h < rows && w < phase.count[2]) {
      const int64_t outputs = whole_rows ? (rows - h) * width - w : phase.count[2] - w;
      const int64_t count = std::min(outputs, places.end - place);
      const int64_t plane = (unit.images.begin + n) * sizes_[0] + d * steps_[0] + phase.first[0];
      const int64_t row = plane * sizes_[1] + (unit.rows.begin + h) * steps_[1] + phase.first[1];
      body(row * sizes_[2] + w * steps_[2] + phase.first[2], count, place);
    }
    place += left;
  }
}

}  // namespace hr::cpu
