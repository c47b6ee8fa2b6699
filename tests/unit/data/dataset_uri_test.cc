#include "runtime/data/dataset_uri.h"

#include "tests/unit/data/test_support.h"

namespace hr::data {
namespace {

using namespace std::string_literals;

class DatasetUriTest : public DataTest {
 protected:
  // Three 1x2 images with labels 7, 8, 9, as the split `prefix` of the folder set.
  void WriteSplit(std::string_view prefix) {
    HR_EXPECT_OK(MakeDirectories(folder_.Path("set")));
    WriteText(folder_.Path(Cat("set/", prefix, "-images-idx3-ubyte")),
              "\0\0\x08\x03\0\0\0\3\0\0\0\1\0\0\0\2"s + "\0\xff\x33\x66\1\2"s);
    WriteText(folder_.Path(Cat("set/", prefix, "-labels-idx1-ubyte")),
              "\0\0\x08\x01\0\0\0\3\x07\x08\x09"s);
  }
  Result<std::unique_ptr<Dataset>> Open(std::string_view uri) {
    return OpenDataset(uri, {.allocator = &allocator_, .data_root = folder_.path()});
  }
  Status OpenError(std::string_view uri) { return Open(uri).status().Clone(); }
};

TEST_F(DatasetUriTest, OpensImagesAndLabels) {
  WriteSplit("train");
  auto data = Open("idx:set/train?batch=2&normalize=0.5,0.25").value();
  ASSERT_EQ(data->fields().size(), 2u);
  EXPECT_EQ(data->fields()[0].name, "images");
  EXPECT_EQ(data->fields()[0].dims, (Dims{2, 1, 1, 2}));
  EXPECT_EQ(data->fields()[1].name, "labels");
  std::vector<Tensor> out(2);
  EXPECT_TRUE(data->Next(out, {}).value());
  EXPECT_EQ(out[0].TypeText(), "float32[2, 1, 1, 2]");
  EXPECT_EQ(out[0].as<float>()[0], -2.0f);
  EXPECT_EQ(out[0].as<float>()[1], 2.0f);
  EXPECT_EQ(out[0].as<float>()[2], (51.0f / 255.0f - 0.5f) / 0.25f);
  EXPECT_EQ(out[1].TypeText(), "int64[2]");
  EXPECT_EQ(out[1].as<int64_t>()[1], 8);
}

TEST_F(DatasetUriTest, FindsTheTestSplitAndPaths) {
  WriteSplit("t10k");
  HR_EXPECT_OK(Open("idx:set/test"));
  HR_EXPECT_OK(Open(Cat("idx:", folder_.Path("set"), "/test?prefetch=2&repeat=forever&shuffle=1")));
  HR_EXPECT_OK(Open("idx:s%65t/t10k"));
}

TEST_F(DatasetUriTest, GivesRawBytes) {
  WriteSplit("train");
  auto data = Open("idx:set/train?raw=1&batch=3").value();
  std::vector<Tensor> out(2);
  EXPECT_TRUE(data->Next(out, {}).value());
  EXPECT_EQ(out[0].TypeText(), "uint8[3, 1, 1, 2]");
  EXPECT_EQ(out[0].as<uint8_t>()[1], 255);
}

TEST_F(DatasetUriTest, OpensAShard) {
  WriteSplit("train");
  auto data = Open("idx:set/train?batch=1&shard=1/2&drop_remainder=1").value();
  EXPECT_EQ(data->size(), 1);
  std::vector<Tensor> out(2);
  EXPECT_TRUE(data->Next(out, {}).value());
  EXPECT_EQ(out[1].as<int64_t>()[0], 8);
  EXPECT_FALSE(data->Next(out, {}).value());
}

TEST_F(DatasetUriTest, ExplainsWhatIsWrong) {
  WriteSplit("train");
  HR_EXPECT_ERROR(OpenError("idx:set/train?shufle=1"), kInvalidArgument,
                  "the keys are batch, shuffle, seed, repeat, drop_remainder, shard, prefetch, "
                  "rename, map, filter, cache, normalize, raw; did you mean 'shuffle'?");
  HR_EXPECT_ERROR(OpenError("idx:set/train?batch"), kInvalidArgument, "KEY=VALUE");
  HR_EXPECT_ERROR(OpenError("idx:set/train?batch=1&batch=2"), kInvalidArgument, "twice");
  HR_EXPECT_ERROR(OpenError("idx:set/train?batch=12x"), kInvalidArgument, "got '12x'");
  HR_EXPECT_ERROR(OpenError("idx:set/train?batch=0"), kInvalidArgument, "got 0");
  HR_EXPECT_ERROR(OpenError("idx:set/train?shuffle=yes"), kInvalidArgument, "0 or 1");
  HR_EXPECT_ERROR(OpenError("idx:set/train?seed=-1"), kInvalidArgument, "at least 0");
  HR_EXPECT_ERROR(OpenError("idx:set/train?repeat=0"), kInvalidArgument, "'forever'");
  HR_EXPECT_ERROR(OpenError("idx:set/train?normalize=0.5"), kInvalidArgument, "MEAN,STD");
  HR_EXPECT_ERROR(OpenError("idx:set/train?normalize=0.5,0"), kInvalidArgument, "above 0");
  HR_EXPECT_ERROR(OpenError("idx:set/train?normalize=nan,1"), kInvalidArgument, "finite");
  HR_EXPECT_ERROR(OpenError("idx:set/train?raw=1&normalize=0,1"), kInvalidArgument, "one of them");
  HR_EXPECT_ERROR(OpenError("idx:set/train?shard=1"), kInvalidArgument, "INDEX/COUNT");
  HR_EXPECT_ERROR(OpenError("idx:set/train?shard=1/x"), kInvalidArgument, "got 'x'");
  HR_EXPECT_ERROR(OpenError("idx:set/train?shard=2/2"), kInvalidArgument, "got 2/2");
  HR_EXPECT_ERROR(OpenError("idx:set/train?prefetch=-1"), kInvalidArgument, "prefetch");
  HR_EXPECT_ERROR(OpenError("idx:set%/train"), kInvalidArgument, "hexadecimal");
  HR_EXPECT_ERROR(OpenError("idx:train"), kInvalidArgument, "FOLDER/SPLIT");
  HR_EXPECT_ERROR(OpenError("dx:set/train?batch=2"), kInvalidArgument,
                  "unknown kind of data set 'dx' in 'dx:set/train'; there are idx, ");
  HR_EXPECT_ERROR(OpenError("set/train?batch=2"), kInvalidArgument, "got 'set/train'");
  HR_EXPECT_ERROR(OpenError("idx:nowhere/train"), kNotFound, folder_.Path("nowhere"));
  HR_EXPECT_ERROR(OpenError("idx:nowhere/train"), kNotFound,
                  "install dataset-fashion-mnist, set $HEADRACE_DATA or name another folder");
}

TEST_F(DatasetUriTest, RefusesFilesThatDoNotBelongTogether) {
  WriteSplit("train");
  WriteText(folder_.Path("set/train-labels-idx1-ubyte"), "\0\0\x08\x01\0\0\0\2\x07\x08"s);
  HR_EXPECT_ERROR(OpenError("idx:set/train"), kInvalidArgument,
                  Cat("'", folder_.Path("set/train-labels-idx1-ubyte"), "' has 2 labels, '",
                      folder_.Path("set/train-images-idx3-ubyte"), "' has 3 images"));
  WriteText(folder_.Path("set/train-labels-idx1-ubyte"), "\0\0\x0c\x01\0\0\0\1\0\0\0\1"s);
  HR_EXPECT_ERROR(OpenError("idx:set/train"), kInvalidArgument, "found int32[1]");
  WriteText(folder_.Path("set/train-images-idx3-ubyte"), "\0\0\x08\x01\0\0\0\1\1"s);
  HR_EXPECT_ERROR(OpenError("idx:set/train"), kInvalidArgument, "found uint8[1]");
}

TEST_F(DatasetUriTest, SurvivesFailureOfEveryAllocation) {
  WriteSplit("train");
  bool opened = false;
  for (int successes = 0; !opened; ++successes) {
    allocator_.FailAfter(successes);
    auto data = Open("idx:set/train");
    opened = data.ok();
    if (!opened) HR_EXPECT_ERROR(data, kResourceExhausted, "");
  }
}

TEST_F(DatasetUriTest, ReadsFashionMnistWhereItIsInstalled) {
  if (!FileExists("/usr/share/datasets/fashion-mnist")) GTEST_SKIP();
  auto data = Open("idx:fashion-mnist/test?batch=10000").value();
  std::vector<Tensor> out(2);
  EXPECT_TRUE(data->Next(out, {}).value());
  EXPECT_EQ(out[0].TypeText(), "float32[10000, 1, 28, 28]");
  int64_t counts[10] = {};
  for (int64_t label : out[1].span<int64_t>()) ++counts[label];
  for (int64_t count : counts) EXPECT_EQ(count, 1000);
}

}  // namespace
}  // namespace hr::data
