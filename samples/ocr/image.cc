#include "image.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "../heat/picture.h"

namespace {

// A path as part of an address of a data set.
std::string escaped(const std::string& path) {
  std::string out;
  for (char c : path) {
    char code[4] = {c, 0};
    if (std::string("%?&,*").find(c) != std::string::npos) {
      std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned char>(c));
    }
    out += code;
  }
  return out;
}

// Two neighbours of a place between pixels, and the second one's share.
struct Between {
  size_t first, second;
  float share;
};

Between between(float place, int64_t size) {
  const float last = static_cast<float>(size - 1);
  const float at = std::clamp(place - 0.5f, 0.0f, last), below = std::floor(at);
  return {static_cast<size_t>(below), static_cast<size_t>(std::min(below + 1, last)), at - below};
}

void paint(Image& image, int64_t x, int64_t y, const uint8_t (&colour)[3]) {
  if (x < 0 || y < 0 || x >= image.width || y >= image.height) return;
  std::copy_n(colour, 3, image.pixels.data() + 3 * (y * image.width + x));
}

// Three by five dots, from the highest bit on.
constexpr uint16_t kDigits[] = {0x7B6F, 0x2C97, 0x73E7, 0x73CF, 0x5BC9,
                                0x79CF, 0x79EF, 0x7249, 0x7BEF, 0x7BCF};
constexpr int64_t kDot = 3;

void draw_digit(Image& image, int64_t left, int64_t top, int digit, const uint8_t (&colour)[3]) {
  for (int64_t i = 0; i < 15 * kDot * kDot; ++i) {
    const int64_t x = i % (3 * kDot), y = i / (3 * kDot);
    const int64_t bit = 14 - (y / kDot * 3 + x / kDot);
    if ((kDigits[digit] >> bit & 1) != 0) paint(image, left + x, top + y, colour);
  }
}

}  // namespace

Image read_image(const hr::Env& env, const std::string& path) {
  hr::Dataset data(env, "images:" + escaped(path) + "?raw=1&batch=1&layout=nhwc&channels=bgr");
  const std::vector<hr::Tensor> batch = data.next();
  const std::vector<int64_t> dims = batch[0].dims();
  const uint8_t* begin = batch[0].data<uint8_t>();
  return {dims[1], dims[2], std::vector<uint8_t>(begin, begin + batch[0].bytes())};
}

void resample(const Image& image, const Box& box, int64_t height, int64_t width, int64_t row,
              float* out) {
  const auto at = [&](size_t y, size_t x, int64_t channel) {
    const size_t pixel = y * static_cast<size_t>(image.width) + x;
    return static_cast<float>(image.pixels[3 * pixel + static_cast<size_t>(channel)]);
  };
  for (int64_t y = 0; y < height; ++y) {
    const float down = (static_cast<float>(y) + 0.5f) / static_cast<float>(height);
    const Between v = between(box.top + down * box.height(), image.height);
    for (int64_t x = 0; x < width; ++x) {
      const float along = (static_cast<float>(x) + 0.5f) / static_cast<float>(width);
      const Between h = between(box.left + along * box.width(), image.width);
      for (int64_t c = 0; c < 3; ++c) {
        const float above =
            at(v.first, h.first, c) * (1 - h.share) + at(v.first, h.second, c) * h.share;
        const float below =
            at(v.second, h.first, c) * (1 - h.share) + at(v.second, h.second, c) * h.share;
        const float mixed = above * (1 - v.share) + below * v.share;
        out[(c * height + y) * row + x] = mixed / 127.5f - 1;
      }
    }
  }
}

void draw_box(Image& image, const Box& box, float sure, size_t number) {
  const auto red = static_cast<uint8_t>(220 * (1 - sure)), green = static_cast<uint8_t>(170 * sure);
  const uint8_t colour[3] = {40, green, red};
  const auto left = std::lround(box.left), right = std::lround(box.right);
  const auto top = std::lround(box.top), bottom = std::lround(box.bottom);
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t x = left; x < right; ++x) {
      paint(image, x, top + i, colour);
      paint(image, x, bottom - 1 - i, colour);
    }
    for (int64_t y = top; y < bottom; ++y) {
      paint(image, left + i, y, colour);
      paint(image, right - 1 - i, y, colour);
    }
  }
  const std::string digits = std::to_string(number);
  int64_t at = left - static_cast<int64_t>(digits.size()) * 4 * kDot - 2;
  for (char digit : digits) {
    draw_digit(image, at, top + 3, digit - '0', colour);
    at += 4 * kDot;
  }
}

void write_image(const Image& image, const std::string& path) {
  std::vector<uint8_t> pixels = image.pixels;
  for (size_t i = 0; i < pixels.size(); i += 3) std::swap(pixels[i], pixels[i + 2]);
  if (write_pixels(path.c_str(), image.height, image.width, pixels.data()) != 0) {
    throw std::runtime_error("could not write '" + path + "'");
  }
}
