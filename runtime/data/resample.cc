#include "runtime/data/resample.h"

#include <algorithm>
#include <cmath>

namespace hr::data {
namespace {

// Which pixels along an axis make a new one.
struct Taps {
  int64_t first;
  std::vector<float> weights;  // their sum is 1
};

std::vector<Taps> TapsOf(int64_t size, double begin, double length, int64_t to) {
  const double step = length / static_cast<double>(to), reach = std::max(step, 1.0);
  std::vector<Taps> all;
  for (int64_t i = 0; i < to; ++i) {
    const double center = begin + (static_cast<double>(i) + 0.5) * step;
    const auto first = std::max<int64_t>(static_cast<int64_t>(std::floor(center - reach)), 0);
    const auto last = std::min<int64_t>(static_cast<int64_t>(std::ceil(center + reach)), size);
    Taps taps = {std::min(first, size - 1), {}};
    float sum = 0;
    for (int64_t k = taps.first; k < last; ++k) {
      const double distance = std::abs(static_cast<double>(k) + 0.5 - center) / reach;
      taps.weights.push_back(static_cast<float>(std::max(0.0, 1 - distance)));
      sum += taps.weights.back();
    }
    for (float& weight : taps.weights) weight /= sum;
    all.push_back(std::move(taps));
  }
  return all;
}

// out[rows][to][channels] from in[rows][size][channels], along the middle axis.
std::vector<float> AlongRow(const uint8_t* in, int64_t rows, int64_t size,
                            const std::vector<Taps>& taps, int channels) {
  std::vector<float> out;
  out.reserve(static_cast<size_t>(rows) * taps.size() * static_cast<size_t>(channels));
  for (int64_t row = 0; row < rows; ++row) {
    const uint8_t* line = in + row * size * channels;
    for (const Taps& tap : taps) {
      for (int c = 0; c < channels; ++c) {
        float sum = 0;
        const uint8_t* pixel = line + tap.first * channels + c;
        for (size_t k = 0; k < tap.weights.size(); ++k, pixel += channels)
          sum += tap.weights[k] * static_cast<float>(*pixel);
        out.push_back(sum);
      }
    }
  }
  return out;
}

}  // namespace

std::vector<uint8_t> Resample(const uint8_t* image, ImageSize size, const ImageBox& box,
                              ImageSize to, int channels) {
  const std::vector<Taps> columns = TapsOf(size.width, box.left, box.width, to.width);
  const std::vector<Taps> rows = TapsOf(size.height, box.top, box.height, to.height);
  const std::vector<float> wide = AlongRow(image, size.height, size.width, columns, channels);
  const size_t line = columns.size() * static_cast<size_t>(channels);
  std::vector<uint8_t> out;
  out.reserve(rows.size() * line);
  std::vector<float> sums(line);
  for (const Taps& tap : rows) {
    std::ranges::fill(sums, 0.0f);
    for (size_t k = 0; k < tap.weights.size(); ++k) {
      const float* from = wide.data() + (static_cast<size_t>(tap.first) + k) * line;
      for (size_t i = 0; i < line; ++i) sums[i] += tap.weights[k] * from[i];
    }
    for (const float sum : sums)
      out.push_back(static_cast<uint8_t>(std::clamp(sum + 0.5f, 0.0f, 255.0f)));
  }
  return out;
}

}  // namespace hr::data
