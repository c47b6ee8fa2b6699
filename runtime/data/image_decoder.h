// What decodes images; plugins implement it, see headrace/plugin_decoder.h.
#pragma once

#include <cstdint>

#include "runtime/base/file.h"

namespace hr::data {

struct ImageSize {
  int64_t width = 0;  // pixels
  int64_t height = 0;
};

// Thread-safe.
class ImageDecoder {
 public:
  virtual ~ImageDecoder() = default;
  // What the file's header says, which need not be true.
  virtual Result<ImageSize> Measure(Bytes file) const = 0;
  // Decodes into out[height][width][channels], 1 channel (grey) or 3 (red, green, blue).
  virtual Status Decode(Bytes file, ImageSize size, int channels, uint8_t* out) const = 0;
};

}  // namespace hr::data
