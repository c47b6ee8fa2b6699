#include "decoders/images/images.h"

#include "decoders/images/formats.h"
#include "headrace/plugin_decoder.h"
#include "runtime/base/errors.h"
#include "runtime/plugin/guest.h"

namespace hr::images {
namespace {

Bytes BytesOf(const void* data, size_t bytes) {
  return {static_cast<const std::byte*>(data), bytes};
}

Status Unknown() {
  return Unimplemented("expected a JPEG or PNG image, found something else; convert it");
}

Result<Size> Measure(Bytes file) {
  if (IsJpeg(file)) return MeasureJpeg(file);
  if (IsPng(file)) return MeasurePng(file);
  return Unknown();
}

Status Decode(Bytes file, Size size, int channels, uint8_t* out) {
  if (channels != 1 && channels != 3)
    return InvalidArgument("expected 1 or 3 channels, got ", channels);
  if (IsJpeg(file)) return DecodeJpeg(file, size, channels, out);
  if (IsPng(file)) return DecodePng(file, size, channels, out);
  return Unknown();
}

const plugin::Guest& GuestOf(void* self) { return *static_cast<plugin::Guest*>(self); }

const hr_plugin_decoder_table kDecoder = {
    .struct_size = sizeof kDecoder,
    .measure = [](void* self, const void* data, size_t bytes, int64_t* out_width,
                  int64_t* out_height) -> hr_status* {
      Result<Size> size = Measure(BytesOf(data, bytes));
      if (!size.ok()) return GuestOf(self).Pass(std::move(size).status());
      *out_width = size->width;
      *out_height = size->height;
      return nullptr;
    },
    .decode = [](void* self, const void* data, size_t bytes, int64_t width, int64_t height,
                 int32_t channels, uint8_t* out) -> hr_status* {
      return GuestOf(self).Pass(Decode(BytesOf(data, bytes), {width, height}, channels, out));
    },
};

}  // namespace

hr_status* ImagesPluginEntry(const hr_plugin_host* host, hr_plugin* out) {
  if (!hr_plugin_matches(host, out, "images")) return nullptr;
  out->self = new plugin::Guest(*host);
  out->release = [](void* self) { delete static_cast<plugin::Guest*>(self); };
  out->decoder = &kDecoder;
  return nullptr;
}

}  // namespace hr::images
