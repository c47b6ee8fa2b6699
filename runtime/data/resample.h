// Changing the size of images.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/data/image_decoder.h"

namespace hr::data {

// A part of an image, in pixels of it.
struct ImageBox {
  double left = 0;
  double top = 0;
  double width = 0;
  double height = 0;
};

// The box of an image of bytes [height][width][channels] in another size. Every pixel is the mean
// of those below it, weighted by a triangle (bilinear) as wide as its distance to the next, so that
// nothing is skipped when the size shrinks. Rounded to the nearest byte.
std::vector<uint8_t> Resample(const uint8_t* image, ImageSize size, const ImageBox& box,
                              ImageSize to, int channels);

}  // namespace hr::data
