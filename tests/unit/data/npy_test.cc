// .npy and .npz files as data sets.
#include "runtime/data/npy.h"

#include <zlib.h>

#include "tests/unit/data/file_formats.h"

namespace hr::data {
namespace {

using namespace std::string_literals;
using Floats = std::vector<float>;

std::string Little(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text.push_back(static_cast<char>(value >> 8 * i));
  return text;
}

std::string Npy(std::string_view dict, std::string_view elements, int version = 1) {
  const std::string header(Cat(dict, "\n"));
  return Cat("\x93NUMPY", std::string(1, static_cast<char>(version)), "\0"s,
             Little(header.size(), version == 1 ? 2 : 4), header, elements);
}

std::string Dict(std::string_view type, std::string_view shape, bool fortran = false) {
  return Cat("{'descr': '", type, "', 'fortran_order': ", fortran ? "True" : "False",
             ", 'shape': ", shape, ", }");
}

template <typename T>
std::string BytesOf(std::initializer_list<T> values) {
  return std::string(reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T));
}

// A zip archive; `packed` compresses its members.
std::string Zip(std::initializer_list<std::pair<std::string, std::string>> members, bool packed) {
  std::string file, directory;
  for (const auto& [name, contents] : members) {
    std::string data = contents;
    if (packed) {
      data.resize(compressBound(contents.size()));
      z_stream stream{};
      deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(contents.data()));
      stream.avail_in = static_cast<uInt>(contents.size());
      stream.next_out = reinterpret_cast<Bytef*>(data.data());
      stream.avail_out = static_cast<uInt>(data.size());
      deflate(&stream, Z_FINISH);
      data.resize(stream.total_out);
      deflateEnd(&stream);
    }
    const uint64_t checksum = crc32(0, reinterpret_cast<const Bytef*>(contents.data()),
                                    static_cast<uInt>(contents.size()));
    const std::string common =
        Cat(Little(packed ? 8 : 0, 2), Little(0, 4), Little(checksum, 4), Little(data.size(), 4),
            Little(contents.size(), 4), Little(name.size(), 2));
    directory +=
        Cat(Little(0x02014b50, 4), Little(20, 2), Little(20, 2), Little(0, 2), common, Little(0, 2),
            Little(0, 2), Little(0, 2), Little(0, 2), Little(0, 4), Little(file.size(), 4), name);
    file +=
        Cat(Little(0x04034b50, 4), Little(20, 2), Little(0, 2), common, Little(0, 2), name, data);
  }
  return Cat(file, directory, Little(0x06054b50, 4), Little(0, 4), Little(members.size(), 2),
             Little(members.size(), 2), Little(directory.size(), 4), Little(file.size(), 4),
             Little(0, 2));
}

class NpyTest : public FormatTest {
 protected:
  Tensor Read(std::string_view file) {
    Write("a.npy", file);
    auto data = Open("npy:a.npy?batch=100");
    EXPECT_TRUE(data.ok()) << StatusText(data);
    return data.ok() ? Batch(**data)[0] : Tensor();
  }
  Status Failing(std::string_view file) {
    Write("a.npy", file);
    return Failure("npy:a.npy");
  }
};

TEST_F(NpyTest, ReadsArraysOfEveryVersion) {
  for (int version : {1, 2, 3}) {
    const Tensor x = Read(Npy(Dict("<f4", "(2, 3)"), BytesOf<float>({1, 2, 3, 4, 5, 6}), version));
    EXPECT_EQ(x.TypeText(), "float32[2, 3]");
    EXPECT_EQ(Values<float>(x), (Floats{1, 2, 3, 4, 5, 6}));
  }
}

TEST_F(NpyTest, ReadsEveryType) {
  const std::pair<std::string_view, std::string_view> types[] = {
      {"<f8", "float64"}, {"<f2", "float16"}, {"|i1", "int8"},  {"<i2", "int16"},
      {"<i4", "int32"},   {"<i8", "int64"},   {"|u1", "uint8"}, {"<u2", "uint16"},
      {"<u4", "uint32"},  {"<u8", "uint64"},  {"|b1", "bool"},  {"<f4", "float32"}};
  for (const auto& [code, name] : types) {
    const std::string elements(2 * static_cast<size_t>(code[2] - '0'), '\1');
    const Tensor x = Read(Npy(Dict(code, "(2,)"), elements));
    EXPECT_EQ(x.TypeText(), Cat(name, "[2]"));
    EXPECT_EQ(AsText(Bytes(x.data(), x.bytes())), elements);
  }
}

TEST_F(NpyTest, ReadsOtherOrders) {
  EXPECT_EQ(
      Values<float>(Read(Npy(Dict("<f4", "(2, 3)", true), BytesOf<float>({1, 4, 2, 5, 3, 6})))),
      (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Values<int32_t>(Read(Npy(Dict(">i4", "(2,)"), "\0\0\0\1\0\0\1\0"s))),
            (std::vector<int32_t>{1, 256}));
}

TEST_F(NpyTest, JoinsFilesAsFields) {
  Write("x.npy", Npy(Dict("<f4", "(2,)"), BytesOf<float>({1, 2})));
  Write("y.npy", Npy(Dict("<i8", "(2,)"), BytesOf<int64_t>({3, 4})));
  auto data = Open("npy:x.npy,y.npy?rename=x:images,y:labels").value();
  EXPECT_EQ(data->names(), (std::vector<std::string>{"images", "labels"}));
  Write("z.npy", Npy(Dict("<f4", "(3,)"), BytesOf<float>({1, 2, 3})));
  HR_EXPECT_ERROR(Failure("npy:x.npy,z.npy"), kInvalidArgument, "'z' has 3 examples");
}

TEST_F(NpyTest, RefusesFilesThatLie) {
  const std::string good = Npy(Dict("<f4", "(2,)"), BytesOf<float>({1, 2}));
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_FALSE(Failing(std::string_view(good).substr(0, length)).ok()) << length;
  HR_EXPECT_ERROR(Failing(good.substr(0, good.size() - 1)), kDataLoss, "announces float32[2]");
  HR_EXPECT_ERROR(Failing(good + "x"), kDataLoss, "the file has 9 bytes of elements");
  HR_EXPECT_ERROR(Failing(Npy(Dict("<f4", "(99999999999, 99999999999)"), "")), kDataLoss, "cut");
  HR_EXPECT_ERROR(Failing(Npy(Dict("<f4", "(-1,)"), "")), kDataLoss, "expected a header");
  HR_EXPECT_ERROR(Failing(Npy(Dict("<c8", "(1,)"), "12345678")), kUnimplemented, "'<c8'");
  HR_EXPECT_ERROR(Failing(Npy(Dict("<f4", "()"), "1234")), kInvalidArgument, "single number");
  HR_EXPECT_ERROR(Failing(Npy(Dict("<f4", "(0,)"), "")), kInvalidArgument, "no examples");
  HR_EXPECT_ERROR(Failing("PK"), kDataLoss, "no .npy file");
}

TEST_F(NpyTest, ReadsArchives) {
  for (bool packed : {false, true}) {
    Write("a.npz", Zip({{"x.npy", Npy(Dict("<f4", "(2,)"), BytesOf<float>({1, 2}))},
                        {"y.npy", Npy(Dict("<i8", "(2,)"), BytesOf<int64_t>({3, 4}))}},
                       packed));
    auto data = Open("npz:a.npz").value();
    EXPECT_EQ(data->names(), (std::vector<std::string>{"x", "y"}));
    EXPECT_EQ(Values<int64_t>(Batch(*data)[1]), (std::vector<int64_t>{3, 4}));
    auto y = Open("npz:a.npz?arrays=y").value();
    EXPECT_EQ(y->names(), (std::vector<std::string>{"y"}));
    HR_EXPECT_ERROR(Failure("npz:a.npz?arrays=z"), kNotFound, "it has: x, y");
  }
}

TEST_F(NpyTest, RefusesDamagedArchives) {
  for (bool packed : {false, true}) {
    const std::string good =
        Zip({{"x.npy", Npy(Dict("<f4", "(2,)"), BytesOf<float>({1, 2}))}}, packed);
    for (size_t length = 0; length < good.size(); ++length) {
      Write("a.npz", std::string_view(good).substr(0, length));
      EXPECT_FALSE(Failure("npz:a.npz").ok()) << length;
    }
    std::string other = good;
    other[packed ? 40 : 50] ^= 1;  // an array's header or its compressed bytes
    Write("a.npz", other);
    HR_EXPECT_ERROR(Failure("npz:a.npz"), kDataLoss, "a.npz");
  }
}

}  // namespace
}  // namespace hr::data
