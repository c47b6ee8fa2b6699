#include "runtime/train/png.h"

#include <zlib.h>

#include <cmath>

#include "tests/unit/train/test_support.h"

namespace hr::train {
namespace {

class PngTest : public TrainTest {};

uint32_t BigEndian(std::string_view bytes) {
  uint32_t value = 0;
  for (char c : bytes.substr(0, 4)) value = value << 8 | static_cast<uint8_t>(c);
  return value;
}

// The contents of the chunk that `png` begins with, which is removed; its CRC is checked.
std::string TakeChunk(std::string_view* png, std::string_view type) {
  size_t size = BigEndian(*png);
  std::string_view body = png->substr(4, size + 4);
  EXPECT_EQ(body.substr(0, 4), type);
  auto crc = crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  EXPECT_EQ(BigEndian(png->substr(8 + size)), crc);
  png->remove_prefix(12 + size);
  return std::string(body.substr(4));
}

TEST_F(PngTest, EncodesRowsBehindTheirFilter) {
  std::string png =
      EncodePng({.width = 2, .height = 2, .channels = 3, .pixels = "abcdefghijkl"}).value();
  std::string_view rest = png;
  EXPECT_EQ(rest.substr(0, 8), "\x89PNG\r\n\x1a\n");
  rest.remove_prefix(8);
  EXPECT_EQ(TakeChunk(&rest, "IHDR"), std::string("\0\0\0\2\0\0\0\2\x08\2\0\0\0", 13));
  std::string data = TakeChunk(&rest, "IDAT");
  std::string raw(100, '?');
  uLongf size = raw.size();
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(raw.data()), &size,
                       reinterpret_cast<const Bytef*>(data.data()), data.size()),
            Z_OK);
  EXPECT_EQ(raw.substr(0, size), std::string("\0abcdef\0ghijkl", 14));
  EXPECT_EQ(TakeChunk(&rest, "IEND"), "");
  EXPECT_TRUE(rest.empty());
}

TEST_F(PngTest, TakesImagesFromBatches) {
  std::vector<float> values{0, 1, 0.5f, 2, -1, NAN, 1, 0};
  Tensor batch = MakeTensor<float>(allocator_, {2, 2, 1, 2}, values).value();
  Image image = ImageOfTensor(batch, 0).value();
  EXPECT_EQ(image.channels, 2);
  EXPECT_EQ(image.pixels, std::string("\0\x80\xff\xff", 4));
  EXPECT_EQ(ImageOfTensor(batch, 1)->pixels, std::string("\0\xff\0\0", 4));
  Tensor bytes = MakeTensor<uint8_t>(allocator_, {1, 1, 2}, std::vector<uint8_t>{7, 9}).value();
  EXPECT_EQ(ImageOfTensor(bytes, 0)->pixels, "\x07\x09");
}

TEST_F(PngTest, RefusesWhatIsNoImage) {
  auto tensor = [&](DType dtype, Dims dims) {
    return Tensor::Create(allocator_, dtype, std::move(dims)).value();
  };
  HR_EXPECT_ERROR(ImageOfTensor(tensor(DType::kFloat32, {2, 2}), 0), kInvalidArgument, "[2, 2]");
  HR_EXPECT_ERROR(ImageOfTensor(tensor(DType::kFloat32, {1, 5, 2, 2}), 0), kInvalidArgument, "");
  HR_EXPECT_ERROR(ImageOfTensor(tensor(DType::kFloat32, {1, 1, 0, 2}), 0), kInvalidArgument, "");
  HR_EXPECT_ERROR(ImageOfTensor(tensor(DType::kFloat32, {1, 1, 2, 2}), 1), kInvalidArgument,
                  "1 of");
  HR_EXPECT_ERROR(ImageOfTensor(tensor(DType::kInt64, {1, 1, 2, 2}), 0), kInvalidArgument, "uint8");
  HR_EXPECT_ERROR(ImageOfTensor(Tensor(), 0), kInvalidArgument, "undefined");
  HR_EXPECT_ERROR(EncodePng({.width = 2, .height = 1, .channels = 1, .pixels = "x"}),
                  kInvalidArgument, "cannot have 1 bytes");
}

}  // namespace
}  // namespace hr::train
