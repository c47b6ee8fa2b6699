#include "runtime/train/safetensors.h"

#include <cstring>

#include "tests/unit/train/test_support.h"

namespace hr::train {
namespace {

std::string FileOf(std::string_view header, std::string_view data = "") {
  std::string file(8, '\0');
  uint64_t length = header.size();
  std::memcpy(file.data(), &length, 8);
  return Cat(file, header, data);
}

Status ParseError(std::string_view file) {
  return ParseSafetensors(AsBytes(file), "f").status().Clone();
}

TEST(Safetensors, WritesTheFormat) {
  std::vector<TensorEntry> entries{{"b\"1", DType::kFloat32, {2, 1}, 0, 8},
                                   {"a", DType::kBool, {}, 0, 1}};
  std::string header = EncodeSafetensorsHeader(entries).value();
  EXPECT_EQ(header.size() % 64, 0u);
  EXPECT_EQ(entries[0].offset, static_cast<int64_t>(header.size()));
  EXPECT_EQ(entries[1].offset, static_cast<int64_t>(header.size()) + 8);
  std::string json = R"({"b\"1":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
                     R"("a":{"dtype":"BOOL","shape":[],"data_offsets":[8,9]}})";
  EXPECT_EQ(header.substr(8, json.size()), json);
  uint64_t length;
  std::memcpy(&length, header.data(), 8);
  EXPECT_EQ(length, header.size() - 8);
}

TEST(Safetensors, ReadsWhatItWrites) {
  std::vector<TensorEntry> entries;
  for (DType dtype :
       {DType::kFloat64, DType::kInt64, DType::kUint64, DType::kFloat32, DType::kInt32,
        DType::kUint32, DType::kFloat16, DType::kBfloat16, DType::kInt16, DType::kUint16,
        DType::kInt8, DType::kUint8, DType::kBool, DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ,
        DType::kFloat8E5M2, DType::kFloat8E5M2FNUZ}) {
    entries.push_back({std::string(DTypeName(dtype)), dtype, {3, 0, 2}, 0, 0});
    entries.push_back(
        {Cat(DTypeName(dtype), "-2"), dtype, {3}, 0, 3 * static_cast<int64_t>(DTypeSize(dtype))});
  }
  std::string file = EncodeSafetensorsHeader(entries).value();
  file.resize(static_cast<size_t>(entries.back().offset + entries.back().bytes));
  auto read = ParseSafetensors(AsBytes(file), "f").value();
  ASSERT_EQ(read.size(), entries.size());
  for (size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].name, entries[i].name);
    EXPECT_EQ(read[i].dtype, entries[i].dtype);
    EXPECT_EQ(read[i].dims, entries[i].dims);
    EXPECT_EQ(read[i].offset, entries[i].offset);
  }
}

TEST(Safetensors, RefusesNamesThatCannotStand) {
  std::vector<TensorEntry> twice{{"a", DType::kInt8, {}, 0, 1}, {"a", DType::kInt8, {}, 0, 1}};
  HR_EXPECT_ERROR(EncodeSafetensorsHeader(twice), kInvalidArgument, "named 'a'");
  std::vector<TensorEntry> bytes{{"\xff", DType::kInt8, {}, 0, 1}};
  HR_EXPECT_ERROR(EncodeSafetensorsHeader(bytes), kInvalidArgument, "UTF-8");
  std::vector<TensorEntry> reserved{{"__metadata__", DType::kInt8, {}, 0, 1}};
  HR_EXPECT_ERROR(EncodeSafetensorsHeader(reserved), kInvalidArgument, "__metadata__");
  std::vector<TensorEntry> large{{std::string(17 << 20, 'x'), DType::kInt8, {}, 0, 1}};
  HR_EXPECT_ERROR(EncodeSafetensorsHeader(large), kInvalidArgument, "smaller shards");
}

TEST(Safetensors, RefusesDamage) {
  HR_EXPECT_ERROR(ParseError(""), kDataLoss, "0 bytes");
  HR_EXPECT_ERROR(ParseError("\x10\0\0\0\0\0\0\0{}"), kDataLoss, "truncated");
  HR_EXPECT_ERROR(ParseError(std::string(8, '\xff')), kDataLoss, "truncated");
  HR_EXPECT_ERROR(ParseError(FileOf(std::string(17 << 20, ' '))), kDataLoss, "the most is");
  HR_EXPECT_ERROR(ParseError(FileOf("{")), kDataLoss, "not valid JSON");
  HR_EXPECT_ERROR(ParseError(FileOf("[]")), kDataLoss, "got array");
  HR_EXPECT_ERROR(ParseError(FileOf(R"({"a":1,"a":1})")), kDataLoss, "'a' twice");
  HR_EXPECT_ERROR(ParseError(FileOf(R"({"a":1})")), kDataLoss, "expected an object");
  HR_EXPECT_ERROR(ParseError(FileOf("{}", "x")), kDataLoss, "describes 10");
}

TEST(Safetensors, RefusesEntriesThatDoNotFit) {
  auto entry = [](std::string_view name, std::string_view dtype, std::string_view shape,
                  std::string_view offsets) {
    return Cat('"', name, R"(":{"dtype":")", dtype, R"(","shape":)", shape, R"(,"data_offsets":)",
               offsets, "}");
  };
  auto file = [](const std::string& entries, size_t bytes) {
    return FileOf(Cat("{", entries, "}"), std::string(bytes, 'x'));
  };
  HR_EXPECT_OK(ParseError(file(entry("a", "F32", "[2]", "[0,8]"), 8)));
  HR_EXPECT_OK(ParseError(file(R"("__metadata__":{"k":"v"})", 0)));
  HR_EXPECT_ERROR(ParseError(file(entry("a", "F8_E8M0", "[8]", "[0,8]"), 8)), kUnimplemented, "F8");
  HR_EXPECT_ERROR(ParseError(file(entry("a", "F32", "[3]", "[0,8]"), 8)), kDataLoss, "float32[3]");
  HR_EXPECT_ERROR(ParseError(file(entry("a", "F32", "[2]", "[0,9]"), 9)), kDataLoss, "9 bytes");
  HR_EXPECT_ERROR(ParseError(file(entry("a", "F32", "[-2]", "[0,8]"), 8)), kDataLoss, "at least 0");
  HR_EXPECT_ERROR(ParseError(file(entry("a", "F32", "[2.0]", "[0,8]"), 8)), kDataLoss, "'shape'");
  HR_EXPECT_ERROR(ParseError(file(entry("a", "F32", "2", "[0,8]"), 8)), kDataLoss, "got number");
  HR_EXPECT_ERROR(ParseError(file(entry("a", "F32", "[2]", "[0]"), 8)), kDataLoss, "two offsets");
  HR_EXPECT_ERROR(ParseError(file(entry("a", "F32", "[2]", "[8,0]"), 8)), kDataLoss, "outside");
  HR_EXPECT_ERROR(ParseError(file(entry("a", "F32", "[2]", "[8,16]"), 8)), kDataLoss, "outside");
  HR_EXPECT_ERROR(ParseError(file(entry("a", "F32", "[4611686018427387904,4]", "[0,0]"), 0)),
                  kDataLoss, "");
  std::string a = entry("a", "F32", "[2]", "[0,8]");
  HR_EXPECT_ERROR(ParseError(file(Cat(a, ",", entry("b", "F32", "[2]", "[4,12]")), 12)), kDataLoss,
                  "'b' overlaps");
  HR_EXPECT_ERROR(ParseError(file(Cat(a, ",", entry("b", "F32", "[1]", "[12,16]")), 16)), kDataLoss,
                  "'b' leaves a gap");
}

TEST(Safetensors, SurvivesEveryFlippedByteOfAHeader) {
  std::vector<TensorEntry> entries{{"a", DType::kFloat32, {2, 1}, 0, 8},
                                   {"b", DType::kInt16, {4}, 0, 8}};
  std::string good = EncodeSafetensorsHeader(entries).value();
  size_t header = good.size();
  good.resize(header + 16);
  for (size_t i = 0; i < header; ++i) {
    for (int value = 0; value < 256; ++value) {
      std::string bad = good;
      bad[i] = static_cast<char>(value);
      auto parsed = ParseSafetensors(AsBytes(bad), "f");
      if (!parsed.ok()) continue;
      for (const TensorEntry& entry : *parsed) {
        EXPECT_LE(static_cast<size_t>(entry.offset + entry.bytes), bad.size());
      }
    }
  }
}

}  // namespace
}  // namespace hr::train
