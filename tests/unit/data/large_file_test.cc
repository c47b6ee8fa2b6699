// Files of several gigabytes, most of which are holes, in little memory.
#include <unistd.h>

#include <cstdio>

#include "tests/unit/data/file_formats.h"

namespace hr::data {
namespace {

constexpr int64_t kLarge = int64_t{3} << 30;

class LargeFileTest : public FormatTest {
 protected:
  // A file of `contents`, a hole up to kLarge bytes, and `end`.
  void WriteWithHole(std::string_view name, std::string_view contents, std::string_view end) {
    Write(name, contents);
    ASSERT_EQ(truncate(folder_.Path(name).c_str(), kLarge), 0);
    FileWriter file = FileWriter::Create(folder_.Path(name), FileWriter::Mode::kAppend).value();
    HR_EXPECT_OK(file.Write(AsBytes(end)));
  }
  // Memory of this process that is not of files, in bytes.
  static int64_t OwnMemory() {
    std::FILE* status = std::fopen("/proc/self/status", "r");
    char line[256];
    long kilobytes = -1;
    while (status != nullptr && std::fgets(line, sizeof line, status) != nullptr) {
      if (std::sscanf(line, "RssAnon: %ld", &kilobytes) == 1) break;
    }
    if (status != nullptr) std::fclose(status);
    return int64_t{kilobytes} * 1024;
  }
  // Opens the data set and reads some batches.
  std::vector<Tensor> ReadSome(std::string_view uri) {
    const int64_t before = OwnMemory();
    auto data = Open(uri).value();
    std::vector<Tensor> batch;
    for (int i = 0; i < 10 && !data->Done({}).value(); ++i) batch = Batch(*data);
    EXPECT_LT(OwnMemory() - before, int64_t{64} << 20);
    return batch;
  }
};

TEST_F(LargeFileTest, NumpyArray) {
  constexpr int64_t kHeader = 128, kRows = (kLarge - kHeader) / 4 + 1;
  std::string dict = Cat("{'descr': '<i4', 'fortran_order': False, 'shape': (", kRows, ",), }");
  dict.resize(kHeader - 11, ' ');
  WriteWithHole("a.npy",
                Cat("\x93NUMPY\1", std::string(1, 0), "\x76", std::string(1, 0), dict, "\n"),
                std::string_view("\7\0\0\0", 4));
  ReadSome("npy:a.npy?batch=1000&shuffle=1");
  auto data = Open("npy:a.npy?batch=1").value();
  HR_EXPECT_OK(data->Seek({.example = kRows - 1, .size = kRows}, {}));
  EXPECT_EQ(Values<int32_t>(Batch(*data)[0]), (std::vector<int32_t>{7}));
}

TEST_F(LargeFileTest, TextOfBytes) {
  WriteWithHole("a.txt", "begin", "end");
  ReadSome("text:a.txt?length=64&stride=1&batch=256&shuffle=1");
}

// The hole is within a quoted field, which may hold anything.
TEST_F(LargeFileTest, Table) {
  WriteWithHole("a.csv", "a,b\n1,\"", "\"\n2,x\n");
  const std::vector<Tensor> batch = ReadSome("csv:a.csv?columns=a&batch=1");
  EXPECT_EQ(Values<float>(batch[0]), (std::vector<float>{2}));
}

}  // namespace
}  // namespace hr::data
