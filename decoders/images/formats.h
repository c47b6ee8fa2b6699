// The formats. Sizes are in pixels; out[height][width][channels] has 1 channel or 3.
#pragma once

#include <cstdint>

#include "runtime/base/file.h"

namespace hr::images {

struct Size {
  int64_t width = 0;
  int64_t height = 0;
};

bool IsJpeg(Bytes file);
Result<Size> MeasureJpeg(Bytes file);
Status DecodeJpeg(Bytes file, Size size, int channels, uint8_t* out);

bool IsPng(Bytes file);
Result<Size> MeasurePng(Bytes file);
Status DecodePng(Bytes file, Size size, int channels, uint8_t* out);

}  // namespace hr::images
