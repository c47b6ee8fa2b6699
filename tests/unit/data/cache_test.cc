#include "runtime/data/cache.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/data/callback_dataset.h"
#include "tests/unit/data/file_formats.h"

namespace hr::data {
namespace {

// A host's data set of `examples` squares in batches of 4; the process ends when it comes to
// `deadly`.
struct Squares {
  int64_t examples = 10;
  int64_t deadly = -1;
  int64_t at = 0;
  int64_t asked = 0;

  static Result<bool> Next(void* context, int64_t count, std::span<Tensor> out) {
    auto& self = *static_cast<Squares*>(context);
    ++self.asked;
    const int64_t left = std::min(count, self.examples - self.at);
    if (self.deadly >= self.at && self.deadly <= self.at + left) raise(SIGKILL);
    if (left == 0) return false;
    out[0].Retype(DType::kFloat64, {left, 1});
    out[1].Retype(DType::kUint8, {left});
    for (int64_t i = 0; i < left; ++i) {
      out[0].as<double>()[i] = static_cast<double>(self.at * self.at);
      out[1].as<uint8_t>()[i] = static_cast<uint8_t>(self.at++);
    }
    return true;
  }
};

class CacheTest : public FormatTest {
 protected:
  std::unique_ptr<Dataset> Make(Squares& squares) {
    return CreateCallbackDataset({{"square", DType::kFloat64, {4, 1}}, {"n", DType::kUint8, {4}}},
                                 {.context = &squares, .next = Squares::Next}, {.batch = 4},
                                 allocator_)
        .value();
  }
  Result<SourceRef> Cache(Squares& squares, std::string_view identity) {
    return CacheInFile(folder_.Path("cache"), identity, *Make(squares), {});
  }
  void ExpectSquares(const ExampleSource& source, int64_t examples) {
    ASSERT_EQ(source.examples(), examples);
    Tensor squares = Tensor::Create(allocator_, DType::kFloat64, {2, 1}).value();
    Tensor n = Tensor::Create(allocator_, DType::kUint8, {2}).value();
    const Tensor out[] = {squares, n};
    for (int64_t i = 0; i < examples; ++i) {
      const int64_t rows[] = {i, examples - 1 - i};
      HR_EXPECT_OK(source.Read(rows, out, {}));
      for (size_t k = 0; k < 2; ++k) {
        EXPECT_EQ(squares.as<double>()[k], static_cast<double>(rows[k] * rows[k]));
        EXPECT_EQ(n.as<uint8_t>()[k], rows[k]);
      }
    }
  }
};

TEST_F(CacheTest, KeepsExamplesInMemory) {
  Squares squares;
  ExpectSquares(*CacheInMemory(*Make(squares), allocator_, {}).value(), 10);
}

TEST_F(CacheTest, KeepsExamplesInAFileThatIsReadAgain) {
  Squares first, second;
  ExpectSquares(*Cache(first, "one").value(), 10);
  ExpectSquares(*Cache(second, "one").value(), 10);
  EXPECT_EQ(second.asked, 0);
}

TEST_F(CacheTest, MakesTheFileAnewIfTheSourceIsAnother) {
  Squares first, second{.examples = 7};
  HR_EXPECT_OK(Cache(first, "one"));
  ExpectSquares(*Cache(second, "two").value(), 7);
}

TEST_F(CacheTest, MakesADamagedFileAnew) {
  Squares first;
  HR_EXPECT_OK(Cache(first, "one"));
  const std::string good = ReadFile(folder_.Path("cache")).value();
  for (size_t length = 8; length < good.size(); length += 5) {
    Write("cache", std::string_view(good).substr(0, length));
    Squares again;
    ExpectSquares(*Cache(again, "one").value(), 10);
    EXPECT_GT(again.asked, 0) << length;
  }
}

TEST_F(CacheTest, LeavesOtherFilesAlone) {
  Write("cache", "my letters");
  Squares squares;
  HR_EXPECT_ERROR(Cache(squares, "one"), kAlreadyExists, "is no cache of a data set");
  EXPECT_EQ(ReadFile(folder_.Path("cache")).value(), "my letters");
}

TEST_F(CacheTest, NeedsTheBeginningOfAnEpochAndKnownShapes) {
  Squares squares;
  auto data = Make(squares);
  Batch(*data);
  HR_EXPECT_ERROR(CacheInMemory(*data, allocator_, {}), kFailedPrecondition, "beginning");
  auto loose = CreateCallbackDataset({{"x", DType::kFloat32, {4, -1}}},
                                     {.context = &squares, .next = Squares::Next}, {}, allocator_)
                   .value();
  HR_EXPECT_ERROR(CacheInMemory(*loose, allocator_, {}), kInvalidArgument, "shape");
}

TEST_F(CacheTest, EndsWithItsLimits) {
  CancelToken token;
  token.Cancel();
  Squares squares;
  HR_EXPECT_ERROR(CacheInFile(folder_.Path("cache"), "", *Make(squares), {.cancel = &token}),
                  kCancelled, "");
  EXPECT_FALSE(FileExists(folder_.Path("cache")));
}

// Whenever the process that writes is killed, a reader finds the old file or none, and the next
// writer is not kept waiting.
TEST_F(CacheTest, SurvivesBeingKilled) {
  for (const bool old : {false, true}) {
    for (const int64_t deadly : {0, 5, 10}) {
      RemoveFile(folder_.Path("cache")).IgnoreError();
      Squares before{.examples = 6}, after;
      if (old) HR_EXPECT_OK(Cache(before, "old"));
      const pid_t child = fork();
      if (child == 0) {
        Squares squares{.deadly = deadly};
        Cache(squares, "new").status().Clone().IgnoreError();
        _exit(0);
      }
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << deadly;
      EXPECT_EQ(FileExists(folder_.Path("cache")), old);
      if (old) ExpectSquares(*Cache(before, "old").value(), 6);
      ExpectSquares(*Cache(after, "new").value(), 10);
    }
  }
}

}  // namespace
}  // namespace hr::data
