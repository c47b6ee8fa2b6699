// CIFAR's binary files as data sets.
#include "tests/unit/data/file_formats.h"

namespace hr::data {
namespace {

constexpr size_t kPixels = 3 * 32 * 32;

class CifarSourceTest : public FormatTest {
 protected:
  // Records with these labels; the channels are filled with 0, 51 and 102 + i.
  void WriteRecords(std::string_view name, std::initializer_list<std::string> labels) {
    std::string file;
    for (const std::string& label : labels) {
      file += label;
      for (char fill : {0, 51, 102}) file += std::string(kPixels / 3, fill);
    }
    Write(name, file);
  }
};

TEST_F(CifarSourceTest, ReadsFiveFilesAsOne) {
  for (int i = 1; i <= 5; ++i) {
    WriteRecords(Cat("data_batch_", i, ".bin"),
                 {std::string(1, static_cast<char>(i)), std::string(1, static_cast<char>(i + 1))});
  }
  auto data = Open(Cat("cifar10:", folder_.path(), "/train?batch=10")).value();
  const std::vector<Tensor> batch = Batch(*data);
  EXPECT_EQ(batch[0].TypeText(), "float32[10, 3, 32, 32]");
  EXPECT_EQ(Values<int64_t>(batch[1]), (std::vector<int64_t>{1, 2, 2, 3, 3, 4, 4, 5, 5, 6}));
  EXPECT_EQ(batch[0].as<float>()[1023], 0.0f);
  EXPECT_EQ(batch[0].as<float>()[1024], 51.0f / 255.0f);
  EXPECT_EQ(batch[0].as<float>()[9 * kPixels + 2048], 102.0f / 255.0f);
}

TEST_F(CifarSourceTest, NormalizesEachChannel) {
  WriteRecords("test_batch.bin", {"\1"});
  auto data = Open(Cat("cifar10:", folder_.path(), "/test?normalize=0,0.1,0.2,1,2,0.5")).value();
  const Tensor images = Batch(*data)[0];
  EXPECT_EQ(images.as<float>()[0], 0.0f);
  EXPECT_EQ(images.as<float>()[1024], (51.0f / 255.0f - 0.1f) / 2.0f);
  EXPECT_EQ(images.as<float>()[2048], (102.0f / 255.0f - 0.2f) / 0.5f);
  HR_EXPECT_ERROR(Failure(Cat("cifar10:", folder_.path(), "/test?normalize=0,0,1,1")),
                  kInvalidArgument, "means of 2 channels, the images have 3");
}

TEST_F(CifarSourceTest, ReadsBothLabelsOfCifar100) {
  WriteRecords("train.bin", {"\1\7", "\2\x63"});
  auto data = Open(Cat("cifar100:", folder_.path(), "/train?raw=1")).value();
  EXPECT_EQ(data->names(), (std::vector<std::string>{"images", "coarse_labels", "labels"}));
  const std::vector<Tensor> batch = Batch(*data);
  EXPECT_EQ(batch[0].TypeText(), "uint8[2, 3, 32, 32]");
  EXPECT_EQ(Values<int64_t>(batch[1]), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(Values<int64_t>(batch[2]), (std::vector<int64_t>{7, 99}));
}

TEST_F(CifarSourceTest, RefusesCutAndMissingFiles) {
  Write("train.bin", std::string(3074 + 100, 'x'));
  HR_EXPECT_ERROR(Failure(Cat("cifar100:", folder_.path(), "/train")), kDataLoss,
                  "train.bin' is cut short or damaged: expected records of 3074 bytes, found 3174");
  Write("train.bin", "");
  HR_EXPECT_ERROR(Failure(Cat("cifar100:", folder_.path(), "/train")), kDataLoss, "found 0 bytes");
  HR_EXPECT_ERROR(Failure(Cat("cifar100:", folder_.path(), "/test")), kNotFound, "test.bin");
  HR_EXPECT_ERROR(Failure(Cat("cifar10:", folder_.path())), kInvalidArgument, "FOLDER/train");
}

}  // namespace
}  // namespace hr::data
