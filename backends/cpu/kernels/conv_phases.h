// Which pixels of an image a pass of a convolution reads for each pixel of its result, and what
// passes over channels-last images have in common.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "backends/cpu/kernels/conv_shape.h"

namespace hr::cpu {

// The positions along one axis of an image that the rows of an implicit matrix read: tap t of row r
// reads position r * step + taps[t], which is 0 outside of [0, source).
struct GatherAxis {
  int64_t size = 0;  // rows
  int64_t step = 1;
  int64_t source = 0;  // positions of the image
  std::vector<int64_t> taps;
};

// A matrix whose rows are pixels of a result (images, rows, columns), and whose columns are the
// channels of the pixels that each of them reads: element (tap row, tap column, channel).
struct Gather {
  GatherAxis rows, columns;
  int64_t pixel = 0;  // elements from a pixel of the image to the next one

  int64_t plane() const { return rows.size * columns.size; }
};

// Returns the taps of an axis that position `i` finds inside the source, which are neighbours.
Range TapsInside(const GatherAxis& axis, int64_t i);

// Neighbouring positions of an axis that read the same taps inside the source.
struct TapRun {
  Range positions, taps;
};
std::vector<TapRun> TapRunsOf(const GatherAxis& axis);

// Passes that make an image: y of x and w, or the gradient of x of that of y and w.
enum class ImagePass : uint8_t { kForward, kBackwardData };

// The weights as a pass takes them, for the names of formats.
inline std::string WeightsText(const ConvShape& s, ImagePass pass) {
  return Cat(pass == ImagePass::kForward ? "forward " : "backward ", WeightsText(s));
}

// Result pixels that use the same taps: all, or those of one phase of the strides of a gradient.
struct ConvPhase {
  Gather gather;
  std::vector<int64_t> taps;  // of the kernel, kh * KW + kw
  // Where its pixels lie in the result.
  int64_t row = 0, column = 0;            // the first one
  int64_t row_step = 1, column_step = 1;  // from one to the next
  int64_t height = 0, width = 0;          // of the whole result

  int64_t pixels(int64_t images) const { return images * gather.plane(); }
  // Returns the number of the result's pixel that is pixel `i` of the phase.
  int64_t ResultPixel(int64_t i) const {
    const int64_t n = i / gather.plane(), r = i / gather.columns.size % gather.rows.size;
    const int64_t y = n * height + row + r * row_step;
    return y * width + column + i % gather.columns.size * column_step;
  }
};

std::vector<ConvPhase> PhasesOf(const ConvShape& shape, ImagePass pass);

// Those of a phase's pixels that read the same of its taps inside the image.
struct ConvPart {
  ConvPhase phase;      // of these pixels and taps alone
  Range rows, columns;  // of the taps of the whole one
};
// Returns all of them: together they read no padding.
std::vector<ConvPart> PartsOf(const ConvPhase& phase);

// What happens to a finished pixel of y: y * scale + bias + residual, cut off below `low` (0 is
// Relu) and then above `high`; a NaN stays. Scale
// and bias have an element for each channel, `residual` is an image as y; each may be null.
template <typename T>
struct ConvEpilogue {
  const T* scale = nullptr;
  const T* bias = nullptr;
  const T* residual = nullptr;
  T low = -std::numeric_limits<T>::infinity();
  T high = std::numeric_limits<T>::infinity();

  bool IsNone() const {
    return scale == nullptr && bias == nullptr && residual == nullptr &&
           low == -std::numeric_limits<T>::infinity() && high == std::numeric_limits<T>::infinity();
  }
};

// Lets an epilogue begin at another channel and at another pixel, whose channels begin `pixel`
// elements behind those of the first one.
template <typename T>
void MoveTo(ConvEpilogue<T>* epilogue, int64_t channel, int64_t pixel) {
  if (epilogue->scale != nullptr) epilogue->scale += channel;
  if (epilogue->bias != nullptr) epilogue->bias += channel;
  if (epilogue->residual != nullptr) epilogue->residual += pixel + channel;
}

// The operands of a pass.
template <typename T>
struct ConvImageMemory {
  const T* image = nullptr;    // x, or the gradient of y
  const T* weights = nullptr;  // as the pass wants them
  T* result = nullptr;         // y, or the gradient of x: all of it is written
  ConvEpilogue<T> epilogue;    // forward only
};

}  // namespace hr::cpu
