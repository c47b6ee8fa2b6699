#include <png.h>

#include "decoders/images/formats.h"
#include "runtime/base/errors.h"

namespace hr::images {
namespace {

// libpng's simplified interface, which returns failures instead of jumping.
class Png {
 public:
  Png() {
    image_ = {};
    image_.version = PNG_IMAGE_VERSION;
  }
  Png(const Png&) = delete;
  ~Png() { png_image_free(&image_); }

  Status Open(Bytes file) {
    return Checked(png_image_begin_read_from_memory(&image_, file.data(), file.size()));
  }
  Size size() const { return {image_.width, image_.height}; }
  Status Read(int channels, uint8_t* out) {
    image_.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
    png_color black = {0, 0, 0};
    return Checked(png_image_finish_read(&image_, &black, out, 0, nullptr));
  }

 private:
  Status Checked(int success) const {
    // What libpng only warns of, such as a wrong checksum, is no whole image either.
    if (success != 0 && image_.warning_or_error == 0) return {};
    return DataLoss("the PNG image is damaged or cut short: ", image_.message);
  }

  png_image image_;
};

}  // namespace

bool IsPng(Bytes file) { return AsText(file).starts_with("\x89PNG\r\n\x1a\n"); }

Result<Size> MeasurePng(Bytes file) {
  Png png;
  HR_RETURN_IF_ERROR(png.Open(file));
  return png.size();
}

Status DecodePng(Bytes file, Size size, int channels, uint8_t* out) {
  Png png;
  HR_RETURN_IF_ERROR(png.Open(file));
  if (png.size().width != size.width || png.size().height != size.height)
    return InvalidArgument("expected the size that the image was measured with");
  return png.Read(channels, out);
}

}  // namespace hr::images
