#include <csetjmp>
#include <cstdio>
// needs stdio.h before it
#include <jpeglib.h>

#include "decoders/images/formats.h"
#include "runtime/base/errors.h"

namespace hr::images {
namespace {

// libjpeg jumps out of a failure, so between setjmp and the jump stands nothing that needs a
// destructor.
struct Failure {
  jpeg_error_mgr manager;
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX];
};

void Leave(j_common_ptr jpeg) {
  auto* failure = reinterpret_cast<Failure*>(jpeg->err);
  failure->manager.format_message(jpeg, failure->message);
  std::longjmp(failure->back, 1);
}

// libjpeg goes on after a warning, with grey where data are missing; we do not.
void LeaveForWarnings(j_common_ptr jpeg, int level) {
  if (level < 0) Leave(jpeg);
}

void Prepare(jpeg_decompress_struct* jpeg, Failure* failure) {
  jpeg->err = jpeg_std_error(&failure->manager);
  failure->manager.error_exit = Leave;
  failure->manager.emit_message = LeaveForWarnings;
}

void ReadHeader(jpeg_decompress_struct* jpeg, const unsigned char* data, unsigned long bytes) {
  jpeg_create_decompress(jpeg);
  jpeg_mem_src(jpeg, data, bytes);
  jpeg_read_header(jpeg, TRUE);
}

void ReadRows(jpeg_decompress_struct* jpeg, int channels, uint8_t* out) {
  jpeg->out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_start_decompress(jpeg);
  const size_t row_bytes = size_t{jpeg->output_width} * static_cast<size_t>(channels);
  while (jpeg->output_scanline < jpeg->output_height) {
    JSAMPROW row = out + jpeg->output_scanline * row_bytes;
    jpeg_read_scanlines(jpeg, &row, 1);
  }
  jpeg_finish_decompress(jpeg);
}

// Reads the header and, if `out` is not null, an image of the expected size. False: *failure says
// why.
bool Run(Bytes file, int channels, Size* size, uint8_t* out, Failure* failure) {
  jpeg_decompress_struct jpeg = {};
  Prepare(&jpeg, failure);
  if (setjmp(failure->back) != 0) {
    jpeg_destroy_decompress(&jpeg);
    return false;
  }
  ReadHeader(&jpeg, reinterpret_cast<const unsigned char*>(file.data()),
             static_cast<unsigned long>(file.size()));
  const bool same = size->width == jpeg.image_width && size->height == jpeg.image_height;
  size->width = jpeg.image_width;
  size->height = jpeg.image_height;
  if (out != nullptr && same) ReadRows(&jpeg, channels, out);
  jpeg_destroy_decompress(&jpeg);
  return true;
}

Status Damaged(const Failure& failure) {
  return DataLoss("the JPEG image is damaged or cut short: ", std::string_view(failure.message));
}

}  // namespace

bool IsJpeg(Bytes file) { return AsText(file).starts_with("\xFF\xD8\xFF"); }

Result<Size> MeasureJpeg(Bytes file) {
  Size size;
  Failure failure = {};
  if (!Run(file, 3, &size, nullptr, &failure)) return Damaged(failure);
  return size;
}

Status DecodeJpeg(Bytes file, Size size, int channels, uint8_t* out) {
  Size found = size;
  Failure failure = {};
  if (!Run(file, channels, &found, out, &failure)) return Damaged(failure);
  if (found.width == size.width && found.height == size.height) return {};
  return InvalidArgument("expected the size that the image was measured with");
}

}  // namespace hr::images
