#include <algorithm>
#include <cstring>

#include "runtime/base/errors.h"
#include "runtime/base/file.h"
#include "runtime/data/formats.h"
#include "runtime/data/image_decoder.h"
#include "runtime/data/pixels.h"
#include "runtime/data/places.h"
#include "runtime/data/resample.h"

namespace hr::data {
namespace {

constexpr size_t kMostBytes = size_t{1} << 30;  // of a file
constexpr int64_t kMostPixels = int64_t{1} << 26;
constexpr int64_t kMostPixelsPerByte = 10'000;  // no format packs more
constexpr int64_t kNanosPerImage = 500'000;

enum class Fit { kStretch, kCrop, kPad };

struct ImageOptions {
  ImageSize size;
  bool resize = false;  // to that size; otherwise all images must have it
  Fit fit = Fit::kStretch;
  int channels = 3;
  bool bgr = false;
  bool channels_last = false;
  PixelOptions pixels;
};

// "224" or "HEIGHTxWIDTH".
Result<ImageSize> ParseSize(const std::string& text) {
  const size_t x = text.find('x');
  ImageSize size;
  HR_ASSIGN_OR_RETURN(size.height, ParseIntOption("size", text.substr(0, x)));
  size.width = size.height;
  if (x != std::string::npos) {
    HR_ASSIGN_OR_RETURN(size.width, ParseIntOption("size", text.substr(x + 1)));
  }
  constexpr int64_t kMost = 1 << 14;
  if (size.height >= 1 && size.width >= 1 && size.height <= kMost && size.width <= kMost)
    return size;
  return InvalidArgument("expected 1 to ", kMost, " pixels as 'size', got '", text, "'");
}

Result<ImageOptions> ReadImageOptions(Query& query) {
  ImageOptions options;
  size_t fit = 0, channels = 0, layout = 0;
  HR_ASSIGN_OR_RETURN(const std::string* size, query.Find("size"));
  if (size != nullptr) {
    HR_ASSIGN_OR_RETURN(options.size, ParseSize(*size));
    options.resize = true;
  }
  HR_RETURN_IF_ERROR(query.Choice("fit", {"stretch", "crop", "pad"}, &fit));
  HR_RETURN_IF_ERROR(query.Choice("channels", {"rgb", "bgr", "gray"}, &channels));
  HR_RETURN_IF_ERROR(query.Choice("layout", {"nchw", "nhwc"}, &layout));
  HR_ASSIGN_OR_RETURN(options.pixels, ReadPixelOptions(query));
  options.fit = static_cast<Fit>(fit);
  options.bgr = channels == 1;
  options.channels = channels == 2 ? 1 : 3;
  options.channels_last = layout == 1;
  return options;
}

struct ImageFile {
  std::string path;
  int64_t label = 0;
};

bool IsImage(std::string_view name) {
  std::string ending(name.substr(std::min(name.rfind('.'), name.size())));
  for (char& c : ending) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
}

Status AddImages(const std::string& folder, int64_t label, std::vector<ImageFile>* files) {
  HR_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(folder));
  for (const std::string& name : names) {
    if (IsImage(name)) files->push_back({JoinPath(folder, name), label});
  }
  return {};
}

// A file alone, or the images of a folder, or those of its subfolders, each of which is a class.
Result<std::vector<ImageFile>> FindImages(const std::string& folder, bool* labelled) {
  std::vector<ImageFile> files;
  HR_ASSIGN_OR_RETURN(const FileStamp place, StampOf(folder));
  if (!place.directory) return std::vector<ImageFile>{{folder, 0}};
  HR_RETURN_IF_ERROR(AddImages(folder, 0, &files));
  HR_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(folder));
  int64_t label = 0;
  *labelled = files.empty();
  for (const std::string& name : names) {
    const std::string path = JoinPath(folder, name);
    HR_ASSIGN_OR_RETURN(const FileStamp stamp, StampOf(path));
    if (!*labelled || !stamp.directory) continue;
    HR_RETURN_IF_ERROR(AddImages(path, label++, &files));
  }
  if (!files.empty()) return files;
  return NotFound("no images (.jpg, .jpeg, .png) in '", folder, "' or its subfolders");
}

// The part of an image that becomes `to`, so that nothing is stretched: the rest is cut off.
ImageBox CropBox(ImageSize from, ImageSize to) {
  const double wide = static_cast<double>(from.width), high = static_cast<double>(from.height);
  const double ratio = static_cast<double>(to.width) / static_cast<double>(to.height);
  const double width = std::min(wide, high * ratio), height = std::min(high, wide / ratio);
  return {(wide - width) / 2, (high - height) / 2, width, height};
}

// The size within `to` that the whole image gets, so that nothing is stretched.
ImageSize PadSize(ImageSize from, ImageSize to) {
  const double scale = std::min(static_cast<double>(to.width) / static_cast<double>(from.width),
                                static_cast<double>(to.height) / static_cast<double>(from.height));
  const auto scaled = [&](int64_t size, int64_t most) {
    return std::clamp<int64_t>(static_cast<int64_t>(static_cast<double>(size) * scale + 0.5), 1,
                               most);
  };
  return {scaled(from.width, to.width), scaled(from.height, to.height)};
}

using Pixels = std::vector<uint8_t>;  // [height][width][channels]

// The image in the middle of a black one.
Pixels Center(const Pixels& image, ImageSize size, ImageSize to, int channels) {
  Pixels out(static_cast<size_t>(to.width * to.height * channels));
  const int64_t left = (to.width - size.width) / 2, top = (to.height - size.height) / 2;
  for (int64_t y = 0; y < size.height; ++y) {
    std::copy_n(image.data() + y * size.width * channels, size.width * channels,
                out.data() + ((y + top) * to.width + left) * channels);
  }
  return out;
}

std::vector<Field> FieldsOf(const ImageOptions& options, bool labelled) {
  Dims dims = {options.channels, options.size.height, options.size.width};
  if (options.channels_last) std::rotate(dims.begin(), dims.begin() + 1, dims.end());
  const DType dtype = options.pixels.raw ? DType::kUint8 : DType::kFloat32;
  std::vector<Field> fields = {{"images", dtype, std::move(dims)}};
  if (labelled) fields.push_back({"labels", DType::kInt64, {}});
  return fields;
}

class ImageSource final : public RowSource {
 public:
  ImageSource(std::vector<ImageFile> files, const ImageOptions& options, std::vector<float> map,
              bool labelled, std::shared_ptr<const ImageDecoder> decoder, std::string keys,
              ThreadBudget* threads)
      : RowSource(FieldsOf(options, labelled), static_cast<int64_t>(files.size()), threads,
                  kNanosPerImage),
        files_(std::move(files)),
        options_(options),
        map_(std::move(map)),
        decoder_(std::move(decoder)),
        keys_(std::move(keys)) {}

  Status ReadRow(int64_t row, std::span<std::byte* const> to) const override {
    const ImageFile& file = files_[static_cast<size_t>(row)];
    auto pixels = Load(file.path);
    if (!pixels.ok()) return std::move(pixels).status().WithContext(Cat("'", file.path, "'"));
    Deliver(*pixels, to[0]);
    if (to.size() > 1) std::memcpy(to[1], &file.label, sizeof file.label);
    return {};
  }
  std::string Identity() const override;

 private:
  Result<Pixels> Load(const std::string& path) const;
  Result<Pixels> Fitted(const Pixels& image, ImageSize size) const;
  void Deliver(const Pixels& pixels, std::byte* to) const;

  const std::vector<ImageFile> files_;
  const ImageOptions options_;
  const std::vector<float> map_;
  const std::shared_ptr<const ImageDecoder> decoder_;
  const std::string keys_;
};

std::string ImageSource::Identity() const {
  std::string text = keys_;
  for (const ImageFile& file : files_) {
    const auto stamp = StampOf(file.path);
    if (!stamp.ok()) return "";
    text += Cat(file.path, " ", stamp->bytes, " ", stamp->modified_nanos, "\n");
  }
  return text;
}

// The size that the file has, if it can be true.
Result<ImageSize> MeasureFile(const ImageDecoder& decoder, Bytes file) {
  HR_ASSIGN_OR_RETURN(const ImageSize size, decoder.Measure(file));
  const bool possible =
      size.width >= 1 && size.height >= 1 && size.width <= kMostPixels / size.height &&
      size.width * size.height / kMostPixelsPerByte <= static_cast<int64_t>(file.size());
  if (possible) return size;
  return DataLoss("the image announces ", size.width, " x ", size.height, " pixels, which its ",
                  file.size(), " bytes cannot hold, or more than ", kMostPixels);
}

Result<Pixels> ImageSource::Load(const std::string& path) const {
  HR_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMostBytes));
  HR_ASSIGN_OR_RETURN(const ImageSize size, MeasureFile(*decoder_, AsBytes(text)));
  Pixels image(static_cast<size_t>(size.width * size.height * options_.channels));
  HR_RETURN_IF_ERROR(decoder_->Decode(AsBytes(text), size, options_.channels, image.data()));
  return Fitted(image, size);
}

Result<Pixels> ImageSource::Fitted(const Pixels& image, ImageSize size) const {
  const ImageSize to = options_.size;
  if (size.width == to.width && size.height == to.height) return image;
  if (!options_.resize) {
    return InvalidArgument("the image has ", size.width, " x ", size.height, " pixels, the first ",
                           "one ", to.width, " x ", to.height, "; say size=HEIGHTxWIDTH");
  }
  ImageBox box = {0, 0, static_cast<double>(size.width), static_cast<double>(size.height)};
  if (options_.fit == Fit::kCrop) box = CropBox(size, to);
  if (options_.fit != Fit::kPad) return Resample(image.data(), size, box, to, options_.channels);
  const ImageSize inner = PadSize(size, to);
  return Center(Resample(image.data(), size, box, inner, options_.channels), inner, to,
                options_.channels);
}

void ImageSource::Deliver(const Pixels& pixels, std::byte* to) const {
  const auto channels = static_cast<size_t>(options_.channels);
  const size_t area = pixels.size() / channels;
  const size_t maps = map_.size() / 256;
  for (size_t c = 0; c < channels; ++c) {
    const size_t from = options_.bgr ? channels - 1 - c : c;
    const float* map = maps == 0 ? nullptr : map_.data() + 256 * (maps == 1 ? 0 : c);
    for (size_t i = 0; i < area; ++i) {
      const uint8_t value = pixels[i * channels + from];
      const size_t at = options_.channels_last ? i * channels + c : c * area + i;
      if (map == nullptr) {
        reinterpret_cast<uint8_t*>(to)[at] = value;
      } else {
        reinterpret_cast<float*>(to)[at] = map[value];
      }
    }
  }
}

Result<ImageSize> SizeOfFirst(const ImageDecoder& decoder, const std::string& path) {
  HR_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMostBytes));
  auto size = MeasureFile(decoder, AsBytes(text));
  if (!size.ok()) return std::move(size).status().WithContext(Cat("'", path, "'"));
  return size;
}

}  // namespace

Result<SourceRef> OpenImages(const std::string& path, Query& query, const DatasetOptions& options) {
  HR_ASSIGN_OR_RETURN(ImageOptions images, ReadImageOptions(query));
  HR_RETURN_IF_ERROR(query.CheckKnown());
  if (!options.image_decoder) return Unimplemented("this program has no decoder of images");
  HR_ASSIGN_OR_RETURN(auto decoder, options.image_decoder());
  HR_ASSIGN_OR_RETURN(const std::string folder, FindPlace(path, options));
  bool labelled = false;
  HR_ASSIGN_OR_RETURN(std::vector<ImageFile> files, FindImages(folder, &labelled));
  if (!images.resize) {
    HR_ASSIGN_OR_RETURN(images.size, SizeOfFirst(*decoder, files[0].path));
  }
  HR_ASSIGN_OR_RETURN(std::vector<float> map, images.pixels.Map(images.channels));
  return SourceRef(new ImageSource(std::move(files), images, std::move(map), labelled,
                                   std::move(decoder), query.FormatText(), options.threads()));
}

}  // namespace hr::data
