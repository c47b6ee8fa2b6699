#include "wav.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <stdexcept>

namespace {

// The bytes of a RIFF file, read from the front.
class Bytes {
 public:
  explicit Bytes(const std::string& path) : path_(path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read '" + path + "'");
    data_.assign(std::istreambuf_iterator<char>(file), {});
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("'" + path_ + "' " + what);
  }
  bool done() const { return at_ + 8 > data_.size(); }
  uint32_t number(size_t size) {
    uint32_t out = 0;
    for (size_t i = 0; i < size; ++i) out |= static_cast<uint32_t>(take(1)[0] & 0xFF) << (8 * i);
    return out;
  }
  std::string tag() { return {take(4), 4}; }
  const char* take(size_t size) {
    if (size > data_.size() - at_) fail("ends before it should");
    at_ += size;
    return data_.data() + at_ - size;
  }
  size_t left() const { return data_.size() - at_; }

 private:
  std::string path_;
  std::string data_;
  size_t at_ = 0;
};

struct Format {
  uint32_t kind = 0, channels = 0, rate = 0, bits = 0;
};

Format read_format(Bytes& bytes, size_t size) {
  if (size < 16) bytes.fail("has a format of " + std::to_string(size) + " bytes, 16 are needed");
  Format out;
  out.kind = bytes.number(2);
  out.channels = bytes.number(2);
  out.rate = bytes.number(4);
  bytes.take(6);
  out.bits = bytes.number(2);
  if (size >= 26 && out.kind == 0xFFFE) {  // extensible: the kind follows
    bytes.take(8);
    out.kind = bytes.number(2);
    bytes.take(size - 26);
  } else {
    bytes.take(size - 16);
  }
  const bool whole = out.kind == 1 && out.bits % 8 == 0 && out.bits >= 8 && out.bits <= 32;
  if (!whole && !(out.kind == 3 && out.bits == 32)) {
    bytes.fail("holds sound of kind " + std::to_string(out.kind) + " with " +
               std::to_string(out.bits) + " bits; PCM of 8 to 32 bits or 32-bit floats are read");
  }
  if (out.channels == 0 || out.rate < 1000 || out.rate > 768000) {
    bytes.fail("has " + std::to_string(out.channels) + " channels at " + std::to_string(out.rate) +
               " samples a second");
  }
  return out;
}

float sample(Bytes& bytes, const Format& format) {
  const size_t size = format.bits / 8;
  const uint32_t raw = bytes.number(size);
  if (format.kind == 3) {
    float out;
    std::memcpy(&out, &raw, sizeof out);
    return out;
  }
  if (size == 1) return (static_cast<float>(raw) - 128) / 128;  // these alone have no sign
  const auto high = static_cast<int32_t>(raw << (32 - format.bits));
  return static_cast<float>(high) / 2147483648.0f;
}

}  // namespace

Sound read_wav(const std::string& path) {
  Bytes bytes(path);
  if (bytes.left() < 12 || bytes.tag() != "RIFF") bytes.fail("is no WAV file");
  bytes.take(4);
  if (bytes.tag() != "WAVE") bytes.fail("is no WAV file");
  Format format;
  Sound out;
  while (!bytes.done()) {
    const std::string tag = bytes.tag();
    const size_t size = bytes.number(4);
    if (tag == "fmt ") {
      format = read_format(bytes, size);
    } else if (tag == "data") {
      if (format.rate == 0) bytes.fail("has sound before it says of which kind");
      const size_t frame = format.channels * format.bits / 8;
      const size_t frames = std::min(size, bytes.left()) / frame;
      for (size_t i = 0; i < frames; ++i) {
        float sum = 0;
        for (uint32_t c = 0; c < format.channels; ++c) sum += sample(bytes, format);
        out.samples.push_back(sum / static_cast<float>(format.channels));
      }
      out.rate = static_cast<int>(format.rate);
      return out;
    } else {
      bytes.take(std::min(size + size % 2, bytes.left()));
    }
  }
  bytes.fail("has no sound");
}

Sound resampled(const Sound& sound, int rate) {
  if (sound.rate == rate) return sound;
  constexpr double kPi = 3.14159265358979323846;
  constexpr int kLobes = 16;
  const double step = static_cast<double>(sound.rate) / rate;
  const double cut = std::min(1.0, 1 / step);  // of what the source can hold
  const double reach = kLobes / cut;
  const auto count = static_cast<size_t>(static_cast<double>(sound.samples.size()) / step);
  Sound out{rate, std::vector<float>(count)};
  for (size_t i = 0; i < count; ++i) {
    const double middle = static_cast<double>(i) * step;
    const auto first = static_cast<int64_t>(std::ceil(middle - reach));
    const auto last = static_cast<int64_t>(std::floor(middle + reach));
    double sum = 0;
    for (int64_t k = std::max<int64_t>(first, 0);
         k <= std::min<int64_t>(last, static_cast<int64_t>(sound.samples.size()) - 1); ++k) {
      const double x = static_cast<double>(k) - middle;
      const double angle = kPi * x * cut;
      const double sinc = angle == 0 ? 1 : std::sin(angle) / angle;
      const double window = 0.5 + 0.5 * std::cos(kPi * x / reach);
      sum += cut * sinc * window * static_cast<double>(sound.samples[static_cast<size_t>(k)]);
    }
    out.samples[i] = static_cast<float>(sum);
  }
  return out;
}
