#include "runtime/train/png.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "runtime/base/errors.h"

namespace hr::train {
namespace {

constexpr int64_t kMostSide = 1 << 24;
constexpr int64_t kMostChannels = 4;

void AppendBigEndian(std::string* out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out->push_back(static_cast<char>(value >> shift));
}

// Length, type, contents, and a CRC over type and contents.
void AppendChunk(std::string* png, std::string_view type, std::string_view contents) {
  AppendBigEndian(png, static_cast<uint32_t>(contents.size()));
  size_t begin = png->size();
  png->append(type);
  png->append(contents);
  auto* bytes = reinterpret_cast<const Bytef*>(png->data() + begin);
  AppendBigEndian(png, static_cast<uint32_t>(crc32_z(0, bytes, png->size() - begin)));
}

std::string HeaderOf(const Image& image) {
  constexpr char kColorTypes[] = {0, 4, 2, 6};
  std::string header;
  AppendBigEndian(&header, static_cast<uint32_t>(image.width));
  AppendBigEndian(&header, static_cast<uint32_t>(image.height));
  header.push_back(8);  // bits a sample
  header.push_back(kColorTypes[image.channels - 1]);
  header.append(3, '\0');  // deflate, the one set of filters, not interlaced
  return header;
}

// Rows, each behind its filter, which is none.
Result<std::string> Compressed(const Image& image) {
  size_t row = static_cast<size_t>(image.width * image.channels);
  std::string raw;
  raw.reserve((row + 1) * static_cast<size_t>(image.height));
  for (size_t y = 0; y < static_cast<size_t>(image.height); ++y) {
    raw.push_back('\0');
    raw.append(image.pixels, y * row, row);
  }
  uLongf size = compressBound(raw.size());
  std::string out(size, '\0');
  int code = compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                       reinterpret_cast<const Bytef*>(raw.data()), raw.size(), 6);
  if (code != Z_OK) return ResourceExhausted("no memory to compress an image");
  out.resize(size);
  return out;
}

bool IsSide(int64_t side) { return side >= 1 && side <= kMostSide; }

template <typename T>
char PixelOf(T value) {
  double clipped = value > T{0} ? std::min(static_cast<double>(value), 1.0) : 0.0;
  return static_cast<char>(std::lround(clipped * 255.0));
}
template <>
char PixelOf(uint8_t value) {
  return static_cast<char>(value);
}

// From planes, as tensors have them, to pixels.
template <typename T>
void Interleave(const T* planes, Image* image) {
  int64_t plane = image->width * image->height;
  image->pixels.reserve(static_cast<size_t>(plane * image->channels));
  for (int64_t i = 0; i < plane; ++i) {
    for (int64_t c = 0; c < image->channels; ++c) {
      image->pixels.push_back(PixelOf(planes[c * plane + i]));
    }
  }
}

}  // namespace

Result<Image> ImageOfTensor(const Tensor& tensor, int64_t index) {
  const Dims& dims = tensor.dims();
  size_t rank = dims.size();
  int64_t count = rank == 4 ? dims[0] : 1;
  bool fits = (rank == 3 || rank == 4) && index >= 0 && index < count && tensor.contiguous() &&
              dims[rank - 3] >= 1 && dims[rank - 3] <= kMostChannels && IsSide(dims[rank - 2]) &&
              IsSide(dims[rank - 1]);
  if (!fits) {
    return InvalidArgument(
        "expected an image as a contiguous tensor [batch, channels, height, "
        "width] with 1 to 4 channels, got number ",
        index, " of ", tensor.TypeText());
  }
  Image image{dims[rank - 1], dims[rank - 2], dims[rank - 3], {}};
  int64_t offset = index * image.width * image.height * image.channels;
  switch (tensor.dtype()) {
    case DType::kUint8: Interleave(tensor.as<uint8_t>() + offset, &image); break;
    case DType::kFloat32: Interleave(tensor.as<float>() + offset, &image); break;
    case DType::kFloat64: Interleave(tensor.as<double>() + offset, &image); break;
    default:
      return InvalidArgument("expected an image of uint8, float32 or float64, got ",
                             tensor.TypeText());
  }
  return image;
}

Result<std::string> EncodePng(const Image& image) {
  if (!IsSide(image.width) || !IsSide(image.height) || image.channels < 1 ||
      image.channels > kMostChannels ||
      image.pixels.size() != static_cast<size_t>(image.width * image.height * image.channels)) {
    return InvalidArgument("an image of ", image.width, " x ", image.height, " pixels with ",
                           image.channels, " channels cannot have ", image.pixels.size(), " bytes");
  }
  HR_ASSIGN_OR_RETURN(std::string data, Compressed(image));
  if (data.size() > INT32_MAX) return InvalidArgument("an image is too large for a PNG chunk");
  std::string png("\x89PNG\r\n\x1a\n");
  AppendChunk(&png, "IHDR", HeaderOf(image));
  AppendChunk(&png, "IDAT", data);
  AppendChunk(&png, "IEND", "");
  return png;
}

}  // namespace hr::train
