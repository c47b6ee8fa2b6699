// PNG images (W3C, "Portable Network Graphics (PNG) Specification").
#pragma once

#include <cstdint>
#include <string>

#include "runtime/device/tensor.h"

namespace hr::train {

// Pixels row by row, `channels` bytes each: 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha.
struct Image {
  int64_t width = 0;
  int64_t height = 0;
  int64_t channels = 0;
  std::string pixels;
};

// The image at `index` of a batch [batch, channels, height, width], or [channels, height, width]
// with index 0. uint8 is taken as it is; floats are in [0, 1], clipped if they are outside
// (NaN is 0). INVALID_ARGUMENT for other shapes and types, sides of 0, and sides above 2^24.
Result<Image> ImageOfTensor(const Tensor& tensor, int64_t index);

// INVALID_ARGUMENT if the sizes do not belong together.
Result<std::string> EncodePng(const Image& image);

}  // namespace hr::train
