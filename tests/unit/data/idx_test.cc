#include "runtime/data/idx.h"

#include <zlib.h>

#include "tests/unit/data/test_support.h"

namespace hr::data {
namespace {

using namespace std::string_literals;

std::string Gzip(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// uint8[2, 3]
const std::string kBytes = "\0\0\x08\x02\0\0\0\x02\0\0\0\x03"s + "abcdef";

class IdxTest : public DataTest {
 protected:
  Result<Tensor> Read(const std::string& contents) {
    WriteText(folder_.Path("file.idx"), contents);
    return ReadIdx(folder_.Path("file.idx"), allocator_);
  }
};

TEST_F(IdxTest, ReadsPlainAndPackedFiles) {
  for (const std::string& contents : {kBytes, Gzip(kBytes)}) {
    Result<Tensor> tensor = Read(contents);
    HR_EXPECT_OK(tensor);
    EXPECT_EQ(tensor->TypeText(), "uint8[2, 3]");
    EXPECT_EQ(std::string(tensor->as<char>(), 6), "abcdef");
  }
}

TEST_F(IdxTest, TurnsBigEndianElementsRound) {
  Tensor ints = Read("\0\0\x0c\x01\0\0\0\x02\0\0\1\2\xff\xff\xff\xfe"s).value();
  EXPECT_EQ(ints.dtype(), DType::kInt32);
  EXPECT_EQ(ints.as<int32_t>()[0], 258);
  EXPECT_EQ(ints.as<int32_t>()[1], -2);
  Tensor shorts = Read("\0\0\x0b\x01\0\0\0\x01\xff\x00"s).value();
  EXPECT_EQ(shorts.as<int16_t>()[0], -256);
  EXPECT_EQ(Read("\0\0\x0d\x01\0\0\0\x01\x3f\xc0\0\0"s).value().as<float>()[0], 1.5f);
  EXPECT_EQ(Read("\0\0\x0e\x01\0\0\0\x01\x3f\xf8\0\0\0\0\0\0"s).value().as<double>()[0], 1.5);
  EXPECT_EQ(Read("\0\0\x09\x01\0\0\0\x01\xff"s).value().as<int8_t>()[0], -1);
}

TEST_F(IdxTest, TakesAnyRank) {
  EXPECT_EQ(Read("\0\0\x08\0x"s).value().TypeText(), "uint8[]");
  EXPECT_EQ(Read("\0\0\x08\x01\0\0\0\0"s).value().TypeText(), "uint8[0]");
  std::string deep = "\0\0\x08\xff"s;
  for (int i = 0; i < 255; ++i) deep += "\0\0\0\1"s;
  EXPECT_EQ(Read(deep + "x").value().dims().size(), 255u);
}

TEST_F(IdxTest, RefusesWhatIsNoIdxFile) {
  HR_EXPECT_ERROR(Read(""), kDataLoss, "an empty file");
  HR_EXPECT_ERROR(Read("PNG!"), kDataLoss, "found 50 4e 47 21");
  HR_EXPECT_ERROR(Read("\0\0\x0a\x01\0\0\0\0"s), kDataLoss, "found 00 00 0a 01");
  HR_EXPECT_ERROR(Read(kBytes.substr(0, 9)), kDataLoss, "announces 2 dimensions");
  HR_EXPECT_ERROR(ReadIdx(folder_.Path("none"), allocator_), kNotFound, "none'");
  HR_EXPECT_ERROR(ReadIdx(folder_.path(), allocator_), kUnavailable, "directory");
}

TEST_F(IdxTest, RefusesFilesThatLieAboutTheirSize) {
  HR_EXPECT_ERROR(Read(kBytes.substr(0, kBytes.size() - 1)), kDataLoss, "found 5");
  HR_EXPECT_ERROR(Read(kBytes + "g"), kDataLoss, "found more");
  HR_EXPECT_ERROR(Read(Gzip(kBytes + "g")), kDataLoss, "found more");
  HR_EXPECT_ERROR(Read(Gzip(kBytes.substr(0, 14))), kDataLoss, "6 bytes, found 2");
  // 4 G x 4 G elements overflow; 4 G elements do not, and must not be allocated.
  std::string huge = "\0\0\x08\x02\xff\xff\xff\xff\xff\xff\xff\xff"s;
  HR_EXPECT_ERROR(Read(huge), kDataLoss, "elements; fetch it again");
  HR_EXPECT_ERROR(Read("\0\0\x0e\x01\xff\xff\xff\xff"s), kDataLoss, "float64[4294967295]");
  HR_EXPECT_ERROR(Read(Gzip("\0\0\x08\x01\xff\xff\xff\xff"s)), kDataLoss,
                  "elements; fetch it again");
  EXPECT_LE(allocator_.allocations(), 4) << "only the four files of plausible size";
}

TEST_F(IdxTest, FindsEveryTruncationOfAPackedFile) {
  std::string packed = Gzip(kBytes);
  for (size_t size = 0; size < packed.size(); ++size) {
    EXPECT_FALSE(Read(packed.substr(0, size)).ok()) << size;
  }
}

TEST_F(IdxTest, FindsDamageOfAPackedFile) {
  std::string packed = Gzip(kBytes);
  for (size_t i = 10; i < packed.size(); ++i) {  // 0 to 9: the gzip header, which nothing checks
    std::string damaged = packed;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    EXPECT_FALSE(Read(damaged).ok()) << i;
  }
}

TEST_F(IdxTest, ReportsAllocationFailure) {
  allocator_.FailAfter(0);
  HR_EXPECT_ERROR(Read(kBytes), kResourceExhausted, "6 bytes");
}

}  // namespace
}  // namespace hr::data
