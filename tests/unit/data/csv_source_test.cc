// CSV files as data sets.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>

#include "tests/unit/data/file_formats.h"

namespace hr::data {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

class CsvSourceTest : public FormatTest {
 protected:
  // The first field of a file's only batch.
  Tensor Read(std::string_view contents, std::string_view keys = "") {
    Write("a.csv", contents);
    auto data = Open(Cat("csv:a.csv?batch=100", keys.empty() ? "" : "&", keys));
    EXPECT_TRUE(data.ok()) << StatusText(data);
    return data.ok() ? Batch(**data)[0] : Tensor();
  }
  Status Failing(std::string_view contents, std::string_view keys = "") {
    Write("a.csv", contents);
    return Failure(Cat("csv:a.csv?batch=100", keys.empty() ? "" : "&", keys));
  }
};

TEST_F(CsvSourceTest, ReadsNumbersWithAHeader) {
  const Tensor x = Read("a,b,c\n1,2.5,-3e2\n4,+5,.5\n");
  EXPECT_EQ(x.dims(), (Dims{2, 3}));
  EXPECT_EQ(Values<float>(x), (Floats{1, 2.5f, -300, 4, 5, 0.5f}));
}

TEST_F(CsvSourceTest, TakesLabelsAndColumnsByNameNumberAndRange) {
  Write("a.csv", "id,x,y,z,kind\n7,1,2,3,0\n8,4,5,6,1\n");
  auto data = Open("csv:a.csv?batch=2&columns=z,1-2&label=kind").value();
  EXPECT_EQ(data->names(), (std::vector<std::string>{"features", "labels"}));
  const std::vector<Tensor> batch = Batch(*data);
  EXPECT_EQ(Values<float>(batch[0]), (Floats{3, 1, 2, 6, 4, 5}));
  EXPECT_EQ(Values<int64_t>(batch[1]), (Ints{0, 1}));
}

TEST_F(CsvSourceTest, TakesAllOtherColumnsBesideTheLabel) {
  EXPECT_EQ(Values<float>(Read("x,kind,y\n1,0,2\n", "label=kind")), (Floats{1, 2}));
}

TEST_F(CsvSourceTest, SplitsColumnsIntoFieldsOfTheirOwnTypes) {
  Write("a.csv", "a,b,c,d\n1,true,-7,Paris\n2.5,0,9,\"New York\"\n");
  auto data =
      Open("csv:a.csv?batch=2&split=1&types=b:bool,c:int8,d:Paris|New York&rename=d:city").value();
  EXPECT_EQ(data->names(), (std::vector<std::string>{"a", "b", "c", "city"}));
  const std::vector<Tensor> batch = Batch(*data);
  EXPECT_EQ(batch[0].TypeText(), "float32[2]");
  EXPECT_EQ(Values<float>(batch[0]), (Floats{1, 2.5f}));
  EXPECT_EQ(Values<bool>(batch[1]), (std::vector<bool>{true, false}));
  EXPECT_EQ(Values<int8_t>(batch[2]), (std::vector<int8_t>{-7, 9}));
  EXPECT_EQ(Values<int64_t>(batch[3]), (Ints{0, 1}));
}

TEST_F(CsvSourceTest, ReadsEveryTypeOfNumbers) {
  for (const char* type : {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                           "float32", "float64", "bool"}) {
    const Tensor x = Read("a\n1\n0\n", Cat("type=", type));
    EXPECT_EQ(DTypeName(x.dtype()), type);
    const size_t size = DTypeSize(x.dtype());
    EXPECT_EQ(x.bytes(), 2 * size);
    const auto zero = [&](size_t i) {
      return std::all_of(x.data() + i * size, x.data() + (i + 1) * size,
                         [](std::byte b) { return b == std::byte{0}; });
    };
    EXPECT_FALSE(zero(0)) << type;
    EXPECT_TRUE(zero(1)) << type;
  }
}

TEST_F(CsvSourceTest, ReadsQuotedFields) {
  EXPECT_EQ(Values<float>(Read("\"a\",\"b,\"\"x\"\"\"\n\"1\",\"2\"\r\n3,\"4\"")),
            (Floats{1, 2, 3, 4}));
  EXPECT_EQ(Values<float>(Read("t,x\n\"two\nlines, and \"\"quotes\"\"\",1\nb,2\n", "columns=x")),
            (Floats{1, 2}));
}

TEST_F(CsvSourceTest, ReadsDialects) {
  EXPECT_EQ(Values<float>(Read("\xEF\xBB\xBF"
                               "a;b\r\n1,5;2\r\n",
                               "delimiter=;&decimal=,")),
            (Floats{1.5f, 2}));
  EXPECT_EQ(Values<float>(Read("# made by hand\n1\t2\n\n# more\n3\t4",
                               "delimiter=tab&header=0&"
                               "comment=hash")),
            (Floats{1, 2, 3, 4}));
  EXPECT_EQ(Values<float>(Read("junk\nmore\na\n1\n", "skip=2")), (Floats{1}));
  EXPECT_EQ(Values<float>(Read("t,x\n5\",1\n6\",2\n", "quote=none&columns=x")), (Floats{1, 2}));
  EXPECT_EQ(Values<float>(Read("t,x\na\\,b,1\n\"c\\\"d\",2\n", "escape=backslash&columns=x")),
            (Floats{1, 2}));
  EXPECT_EQ(Values<float>(Read("a b\n 1 \n", "")), (Floats{1}));
}

TEST_F(CsvSourceTest, FillsMissingValues) {
  const Tensor x = Read("a,b\n1,\nNA,4\n", "missing=nan&na=NA,-");
  EXPECT_EQ(x.as<float>()[0], 1);
  EXPECT_TRUE(std::isnan(x.as<float>()[1]));
  EXPECT_TRUE(std::isnan(x.as<float>()[2]));
  EXPECT_EQ(x.as<float>()[3], 4);
  EXPECT_EQ(Values<float>(Read("a\n1\n-999\n", "missing=0&na=-999")), (Floats{1, 0}));
  EXPECT_EQ(Values<int64_t>(Read("a\nx\n\"\"\n", "missing=0&type=x|y")), (Ints{0, -1}));
}

TEST_F(CsvSourceTest, DelimitersMayBeCharactersOfNumbers) {
  EXPECT_EQ(Values<float>(Read("aeb\n1e5\n", "delimiter=e")), (Floats{1, 5}));
  EXPECT_EQ(Values<float>(Read("a5b\n152\n", "delimiter=5")), (Floats{1, 2}));
  EXPECT_EQ(Values<float>(Read("a,b\n010,2\n", "quote=0")), (Floats{1, 2}));
}

// A file character by character: the rows' texts, or nothing if quotes are broken.
std::optional<std::vector<std::vector<std::string>>> NaiveRows(std::string_view text) {
  std::vector<std::vector<std::string>> rows;
  size_t i = 0;
  const auto ends_row = [&](size_t at) {
    return at == text.size() || text[at] == '\n' ||
           (text[at] == '\r' && (at + 1 == text.size() || text[at + 1] == '\n'));
  };
  while (i < text.size()) {
    if (ends_row(i)) {  // an empty line
      i += text[i] == '\r' ? 2 : 1;
      continue;
    }
    std::vector<std::string>& row = rows.emplace_back();
    for (bool more = true; more;) {
      std::string& field = row.emplace_back();
      if (i < text.size() && text[i] == '"') {
        for (++i;; ++i) {
          if (i == text.size()) return {};
          if (text[i] != '"') {
            field += text[i];
          } else if (i + 1 < text.size() && text[i + 1] == '"') {
            field += text[++i];
          } else {
            break;
          }
        }
        ++i;
      } else {
        for (; !ends_row(i) && text[i] != ','; ++i) {
          if (text[i] == '"') return {};
          field += text[i];
        }
      }
      more = i < text.size() && text[i] == ',';
      if (!more && !ends_row(i)) return {};
      if (more) ++i;
    }
    i += i < text.size() && text[i] == '\r' ? 2 : 1;
  }
  return rows;
}

std::string RandomField(std::mt19937& rng) {
  static constexpr const char* kPieces[] = {
      "0", "1",  "27", ".5",   "-",  "e3", " ",
      ",", "\n", "\r", "\"\"", "\"", "q",  "123456789012345678"};
  const auto below = [&](uint32_t n) { return rng() % n; };
  std::string text;
  for (uint32_t i = below(4); i > 0; --i) text += kPieces[below(below(4) == 0 ? 14 : 4)];
  if (below(2) == 0) text = Cat("\"", text, below(40) == 0 ? "" : "\"");
  return text;
}

// What the reader says of a random file is what the naive one says: values, or that it is damaged.
TEST_F(CsvSourceTest, ReadsRandomFilesAsANaiveReaderDoes) {
  int readable = 0;
  for (uint32_t seed = 0; seed < 600; ++seed) {
    std::mt19937 rng(seed);
    const size_t width = 1 + rng() % 3;
    std::string text = std::string("a,b,c").substr(0, 2 * width - 1) + "\n1,1,1";
    text.resize(text.size() - 2 * (3 - width));  // one row at least
    for (uint32_t row = rng() % 4; row > 0; --row) {
      text += rng() % 4 == 0 ? "\r\n" : rng() % 8 == 0 ? "\n\n" : "\n";
      for (size_t i = 0; i < width; ++i) text += Cat(i == 0 ? "" : ",", RandomField(rng));
    }
    const auto rows = NaiveRows(text);
    bool good = rows.has_value();
    Floats expected;
    for (size_t i = 1; good && i < rows->size(); ++i) {
      good = (*rows)[i].size() == width;
      for (const std::string& field : (*rows)[i]) {
        char* end = nullptr;
        const std::string trimmed = field.substr(0, field.find_last_not_of(' ') + 1);
        expected.push_back(std::strtof(trimmed.c_str(), &end));
        good = good && end == trimmed.c_str() + trimmed.size() && !trimmed.empty() &&
               trimmed.find_first_of("\n\r") == std::string::npos;
      }
    }
    SCOPED_TRACE(Cat("seed ", seed, ": ", text));
    if (!good) {
      HR_EXPECT_ERROR(Failing(text), kDataLoss, "a.csv', line");
      continue;
    }
    ++readable;
    EXPECT_EQ(Values<float>(Read(text)), expected);
  }
  EXPECT_GT(readable, 150);
}

// Rows of text in quotes and of a number, long enough that rows are found many characters at a
// time. In some files a character is another one.
TEST_F(CsvSourceTest, FindsTheRowsThatANaiveReaderFinds) {
  int readable = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 rng(seed);
    static constexpr const char* kPieces[] = {"a", "bcdefgh", "\"\"", ",", "\n", "\r\n", "\r", "1"};
    std::string text = "t,x\n,1";
    for (uint32_t row = rng() % 40; row > 0; --row) {
      text += rng() % 4 == 0 ? "\r\n" : rng() % 8 == 0 ? "\n\r\n" : "\n";
      text += rng() % 4 == 0 ? "plain" : "\"";
      if (text.back() == '"') {
        for (uint32_t i = rng() % 12; i > 0; --i) text += kPieces[rng() % 8];
        text += '"';
      }
      text += rng() % 3 == 0 ? Cat(",\"", row, "\"") : Cat(",", row);
    }
    if (rng() % 2 == 0) text += "\n";
    if (rng() % 3 == 0) text[4 + rng() % (text.size() - 4)] = "\",\n\r5"[rng() % 5];
    const auto rows = NaiveRows(text);
    bool good = rows.has_value();
    Floats expected;
    for (size_t i = 1; good && i < rows->size(); ++i) {
      good = (*rows)[i].size() == 2 && !(*rows)[i][1].empty() &&
             (*rows)[i][1].find_first_not_of("0123456789") == std::string::npos;
      if (good) expected.push_back(std::strtof((*rows)[i][1].c_str(), nullptr));
    }
    SCOPED_TRACE(Cat("seed ", seed, ": ", text));
    if (!good) {
      HR_EXPECT_ERROR(Failing(text, "columns=x"), kDataLoss, "a.csv', line");
      continue;
    }
    ++readable;
    EXPECT_EQ(Values<float>(Read(text, "columns=x")), expected);
  }
  EXPECT_GT(readable, 200);
}

TEST_F(CsvSourceTest, SaysWhereFieldsAreWrong) {
  HR_EXPECT_ERROR(Failing("a,b\n1,2\n3,x\n"), kDataLoss,
                  Cat("'", folder_.Path("a.csv"),
                      "', line 3, column 3: expected a number (float32) "
                      "in column 'b', found 'x'"));
  HR_EXPECT_ERROR(Failing("a,b\n1,2\n3\n"), kDataLoss,
                  "line 3, column 1: expected 2 fields, as in the first row, found 1");
  HR_EXPECT_ERROR(Failing("a,b\n1,2,3\n"), kDataLoss, "line 2, column 1: expected 2 fields");
  HR_EXPECT_ERROR(Failing("a,b\n1,\n"), kDataLoss, "column 'b' has no value here; say missing=");
  HR_EXPECT_ERROR(Failing("a\n300\n", "type=uint8"), kDataLoss, "an integer (uint8)");
  HR_EXPECT_ERROR(Failing("a\n1.5\n", "type=int32"), kDataLoss, "an integer (int32)");
  HR_EXPECT_ERROR(Failing("a\nz\n", "type=x|y"), kDataLoss, "one of x, y");
}

TEST_F(CsvSourceTest, SaysWhereQuotesAreBroken) {
  HR_EXPECT_ERROR(Failing("a,b\n1,2\n3,\"4\n5,6\n"), kDataLoss,
                  "line 3, column 3: the quote that opens here is never closed");
  HR_EXPECT_ERROR(Failing("a,b\n1,5\" pipe\n"), kDataLoss, "line 2, column 4: a quote within");
  HR_EXPECT_ERROR(Failing("a,b\n1,\"2\"x\n"), kDataLoss,
                  "line 2, column 6: expected a delimiter or the end of the line behind a quoted");
}

TEST_F(CsvSourceTest, ExplainsKeysThatMakeNoSense) {
  constexpr std::string_view kText = "a,b\n1,2\n";
  HR_EXPECT_ERROR(Failing(kText, "columns=c"), kNotFound, "no column 'c'");
  HR_EXPECT_ERROR(Failing(kText, "columns=1-2"), kNotFound, "no column '1-2'");
  HR_EXPECT_ERROR(Failing(kText, "columns=a,0"), kInvalidArgument, "'a' is asked for twice");
  HR_EXPECT_ERROR(Failing(kText, "label=a&columns=a"), kInvalidArgument, "twice");
  HR_EXPECT_ERROR(Failing(kText, "types=a:int8"), kInvalidArgument, "split=1");
  HR_EXPECT_ERROR(Failing(kText, "types=a:text"), kInvalidArgument, "got 'text'");
  HR_EXPECT_ERROR(Failing(kText, "types=a:int8&columns=b"), kInvalidArgument, "not read");
  HR_EXPECT_ERROR(Failing(kText, "type=int8&missing=nan"), kInvalidArgument, "as 'missing'");
  HR_EXPECT_ERROR(Failing(kText, "delimiter=ab"), kInvalidArgument, "one character");
  HR_EXPECT_ERROR(Failing(kText, "decimal=,"), kInvalidArgument, "cannot be two of");
  HR_EXPECT_ERROR(Failing("a,a\n1,2\n", "split=1"), kInvalidArgument, "called 'a'");
  HR_EXPECT_ERROR(Failing("a,b\n"), kInvalidArgument, "no examples");
  HR_EXPECT_ERROR(Failing(""), kDataLoss, "no rows");
  HR_EXPECT_ERROR(Failing("\xFF\xFE"
                          "a"),
                  kDataLoss, "UTF-16");
  HR_EXPECT_ERROR(Failure("csv:none.csv"), kNotFound, "/usr/share/datasets/none.csv");
}

TEST_F(CsvSourceTest, JoinsFiles) {
  Write("part-1.csv", "a\n1\n2\n");
  Write("part-2.csv", "a\n3\n");
  auto data = Open("csv:part-*.csv?batch=9").value();
  EXPECT_EQ(Values<float>(Batch(*data)[0]), (Floats{1, 2, 3}));
  Write("part-3.csv", "b\n3\n");
  HR_EXPECT_ERROR(Failure("csv:part-1.csv,part-3.csv"), kDataLoss, "its columns are b");
}

TEST_F(CsvSourceTest, ShufflesShardsAndSeeks) {
  std::string text = "a\n";
  for (int i = 0; i < 1000; ++i) text += Cat(i, "\n");
  Write("a.csv", text);
  auto whole = Open("csv:a.csv?batch=100&shuffle=1&seed=3").value();
  std::vector<Floats> batches;
  for (int i = 0; i < 10; ++i) batches.push_back(Values<float>(Batch(*whole)[0]));
  Floats all;
  for (const Floats& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  EXPECT_FALSE(std::ranges::is_sorted(all));
  std::ranges::sort(all);
  for (size_t i = 0; i < 1000; ++i) EXPECT_EQ(all[i], static_cast<float>(i));
  auto second = Open("csv:a.csv?batch=50&shuffle=1&seed=3&shard=1/2&prefetch=2").value();
  HR_EXPECT_OK(second->Restore(R"({"epoch":0,"example":700,"first_epoch":0,"seed":3,)"
                               R"("shuffle":true,"size":1000})",
                               {}));
  EXPECT_EQ(Values<float>(Batch(*second)[0]), Floats(batches[7].begin() + 50, batches[7].end()));
}

TEST_F(CsvSourceTest, ReadsTheSameOnSeveralThreads) {
  auto env = session::Env::Create({.threads = 3}).value();
  std::string text = "a,b\n";
  for (int i = 0; i < 40000; ++i) text += Cat(i, ",", 2 * i, "\n");
  Write("a.csv", text);
  auto data = OpenDataset("csv:a.csv?batch=40000",
                          {.allocator = &allocator_, .env = env, .data_root = folder_.path()})
                  .value();
  const Tensor x = Batch(*data)[0];
  for (int i = 0; i < 40000; ++i) {
    ASSERT_EQ(x.as<float>()[2 * i], static_cast<float>(i));
    ASSERT_EQ(x.as<float>()[2 * i + 1], static_cast<float>(2 * i));
  }
}

// Text in quotes holds what looks like rows, and parts of the file that threads look at begin in
// it.
TEST_F(CsvSourceTest, FindsTheSameRowsOnSeveralThreads) {
  auto env = session::Env::Create({.threads = 3}).value();
  for (const bool breaks : {false, true}) {
    std::string text = "t,a\n";
    for (int i = 0; i < 6000; ++i) {
      const bool lines = breaks && i > 4000;
      const std::string filler(static_cast<size_t>(700 + i % 601), 'x');
      text += Cat("\"", filler, lines ? "\n7,7\n" : "", filler, "\",", i, "\n");
    }
    Write("a.csv", text);
    const DatasetOptions options{.allocator = &allocator_, .env = env, .data_root = folder_.path()};
    auto data = OpenDataset("csv:a.csv?batch=6000&columns=a", options);
    ASSERT_TRUE(data.ok()) << StatusText(data);
    const Tensor x = Batch(**data)[0];
    ASSERT_EQ(x.dims(), (Dims{6000, 1}));
    for (int i = 0; i < 6000; ++i) ASSERT_EQ(x.as<float>()[i], static_cast<float>(i));
    Write("a.csv", text + "\"x\"y,1\n");
    HR_EXPECT_ERROR(OpenDataset("csv:a.csv?columns=a", options), kDataLoss,
                    breaks ? "line 10000, column 4" : "line 6002, column 4");
  }
}

// Threads read several batches at once; each comes with its own position, and a failure with the
// batch that has it.
TEST_F(CsvSourceTest, BatchesThatAreReadAtOnceComeOneByOne) {
  auto env = session::Env::Create({.threads = 2}).value();
  std::string text = "a\n";
  for (int i = 0; i < 1050; ++i) text += i == 730 ? "x\n" : Cat(i, "\n");
  Write("a.csv", text);
  for (const char* keys : {"", "&prefetch=2"}) {
    auto data = OpenDataset(Cat("csv:a.csv?batch=100&repeat=2", keys),
                            {.allocator = &allocator_, .env = env, .data_root = folder_.path()})
                    .value();
    for (int i = 0; i < 7; ++i) {
      EXPECT_EQ(Values<float>(Batch(*data)[0])[99], static_cast<float>(100 * i + 99));
      EXPECT_EQ(data->position()->example, 100 * (i + 1));
    }
    std::vector<Tensor> out(1);
    HR_EXPECT_ERROR(data->Next(out, {}), kDataLoss, "line 732");
    EXPECT_EQ(data->position()->example, 700);
    DataPosition behind = *data->position();
    behind.example = 800;
    HR_EXPECT_OK(data->Seek(behind, {}));
    EXPECT_EQ(Values<float>(Batch(*data)[0])[0], 800.0f);
    Batch(*data);
    EXPECT_EQ(Batch(*data)[0].dims(), (Dims{50, 1}));
    EXPECT_EQ(data->position()->epoch, 1);
    EXPECT_EQ(Values<float>(Batch(*data)[0])[1], 1.0f);
    HR_EXPECT_OK(data->Reshard({.index = 1, .count = 2}, {}));
    EXPECT_EQ(Values<float>(Batch(*data)[0])[0], 200.0f);
  }
}

}  // namespace
}  // namespace hr::data
