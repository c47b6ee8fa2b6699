// Pictures of pages.
#ifndef HEADRACE_SAMPLES_IMAGE_H_
#define HEADRACE_SAMPLES_IMAGE_H_

#include <string>
#include <vector>

#include <headrace/headrace.hpp>

// [height, width, 3]: blue, green, red, as the networks want them.
struct Image {
  int64_t height, width;
  std::vector<uint8_t> pixels;
};

// From left and top to before right and bottom, in pixels.
struct Box {
  float left, top, right, bottom;
  float width() const { return right - left; }
  float height() const { return bottom - top; }
};

// Reads a PNG or JPEG file.
Image read_image(const hr::Env& env, const std::string& path);

// Writes the part of an image in a box as float32 [3, height, width], from -1 (black) to 1, its
// pixels mixed of the four that are nearest. `row` is the distance between rows of `out`, and
// `height` rows make a channel.
void resample(const Image& image, const Box& box, int64_t height, int64_t width, int64_t row,
              float* out);

// Draws the outline of a box, from green (1: sure) to red (0), and the number beside it.
void draw_box(Image& image, const Box& box, float sure, size_t number);

void write_image(const Image& image, const std::string& path);

#endif
