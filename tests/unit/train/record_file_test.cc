#include "runtime/train/record_file.h"

#include "tests/unit/train/test_support.h"

namespace hr::train {
namespace {

using namespace std::string_literals;

class RecordFileTest : public TrainTest {};

// The frame of "brain.Event:2" in an event file's first record is known from TensorFlow's files;
// here the empty record, whose CRC-32C is 0: masked it is the constant alone.
TEST_F(RecordFileTest, FramesWithMaskedChecksums) {
  std::string frame = FrameRecord("");
  ASSERT_EQ(frame.size(), 16u);
  EXPECT_EQ(frame.substr(0, 8), std::string(8, '\0'));
  EXPECT_EQ(frame.substr(12), "\xd8\xea\x82\xa2");
  EXPECT_EQ(FrameRecord("abc").substr(0, 8), "\x03\0\0\0\0\0\0\0"s);
  // CRC-32C("123456789") is 0xE3069283: rotated right by 15 0x2507C60D, plus 0xA282EAD8.
  EXPECT_EQ(FrameRecord("123456789").substr(21), "\xe5\xb0\x8a\xc7");
}

TEST_F(RecordFileTest, GathersUntilFlushed) {
  std::string path = folder_.Path("records");
  RecordWriter writer = RecordWriter::Create(path).value();
  HR_EXPECT_OK(writer.Write("one"));
  EXPECT_EQ(FileSize(path).value(), 0);
  HR_EXPECT_OK(writer.Flush());
  HR_EXPECT_OK(writer.Flush());
  EXPECT_EQ(ReadFile(path).value(), FrameRecord("one"));
  HR_EXPECT_OK(writer.Write(std::string(300 << 10, 'x')));
  EXPECT_EQ(FileSize(path).value(), 19 + 16 + (300 << 10)) << "large ones do not wait";
}

}  // namespace
}  // namespace hr::train
