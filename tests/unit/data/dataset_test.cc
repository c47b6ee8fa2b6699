#include "runtime/data/dataset.h"

#include <thread>

#include "runtime/data/prefetch_dataset.h"
#include "tests/unit/data/memory_dataset.h"
#include "tests/unit/data/scripted_source.h"

namespace hr::data {
namespace {

class DatasetTest : public DataTest {
 protected:
  std::unique_ptr<Dataset> Open() {
    return CreateCallbackDataset({{"x", DType::kInt64, {1}}, {"y", DType::kInt64, {1}}},
                                 source_.callbacks(), {}, allocator_)
        .value();
  }
  ScriptedSource source_;
};

TEST_F(DatasetTest, RenamesFields) {
  auto data = Open();
  const char* before = data->field_name(1);
  HR_EXPECT_ERROR(data->Rename("z", "a"), kNotFound, "no field 'z'; it has: x, y");
  HR_EXPECT_ERROR(data->Rename("y", "x"), kAlreadyExists, "'x'");
  HR_EXPECT_OK(data->Rename("y", "y"));
  HR_EXPECT_OK(data->Rename("y", "z"));
  EXPECT_STREQ(data->field_name(1), "z");
  EXPECT_STREQ(before, "y") << "whoever has read it may go on";
  EXPECT_EQ(data->field_name(2), nullptr);
  EXPECT_EQ(Join(data->names()), "x, z");
  EXPECT_EQ(data->fields()[1].name, "z");
  EXPECT_EQ(data->field_count(), 2u);
}

// While `data` waits for its host in a thread, it refuses everything else.
void ExpectInUse(Dataset& data, const ScriptedSource& source) {
  std::vector<Tensor> out(data.field_count());
  while (source.calls.load() == 0) std::this_thread::yield();
  constexpr char kSentence[] = "is in use: another call of it has not returned yet";
  HR_EXPECT_ERROR(data.Next(out, {}), kFailedPrecondition, kSentence);
  HR_EXPECT_ERROR(data.Done({}), kFailedPrecondition, kSentence);
  HR_EXPECT_ERROR(data.Rewind({}), kFailedPrecondition, kSentence);
  HR_EXPECT_ERROR(data.Seek({}, {}), kFailedPrecondition, kSentence);
  HR_EXPECT_ERROR(data.position(), kFailedPrecondition, kSentence);
  HR_EXPECT_ERROR(data.Rename("x", "z"), kFailedPrecondition, kSentence);
  EXPECT_STREQ(data.field_name(0), "x");
}

TEST_F(DatasetTest, IsUsedByOneThreadAtATime) {
  for (bool prefetch : {false, true}) {
    source_.GoTo(0);
    source_.calls = 0;
    auto data = Open();
    if (prefetch) data = CreatePrefetchDataset(std::move(data), 2).value();
    source_.block = true;
    std::thread user([&] {
      std::vector<Tensor> out(2);
      HR_EXPECT_OK(data->Next(out, {}));
    });
    ExpectInUse(*data, source_);
    source_.block = false;
    user.join();
    EXPECT_EQ(data->position()->example, 1);
  }
}

// Sixteen threads: each call either has the data set to itself or is refused.
TEST_F(DatasetTest, ManyThreadsNeverMeet) {
  constexpr int kThreads = 16, kRounds = 300;
  std::vector<int64_t> values(64);
  Tensor tensor = MakeTensor<int64_t>(allocator_, {64}, values).value();
  for (bool prefetch : {false, true}) {
    auto data =
        CreateMemoryDataset({ColumnOf("v", tensor)},
                            {.batch = 4, .shuffle = true, .repeat = kRepeatForever}, allocator_)
            .value();
    if (prefetch) data = CreatePrefetchDataset(std::move(data), 2).value();
    std::atomic<int> delivered{0}, refused{0};
    std::vector<std::thread> threads;
    auto count = [&](const Status& status, std::atomic<int>* successes) {
      EXPECT_TRUE(status.ok() || status.code() == Code::kFailedPrecondition);
      ++*(status.ok() ? successes : &refused);
    };
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        std::vector<Tensor> out(1);
        std::atomic<int> others{0};
        for (int round = 0; round < kRounds; ++round) {
          count(data->Next(out, {}).status(), &delivered);
          count(data->Done({}).status(), &others);
          count(data->position().status(), &others);
          if (round % 16 == thread) count(data->Rename("v", "v"), &others);
          if (thread == 0 && round % 8 == 0) count(data->Rewind({}), &others);
          EXPECT_STREQ(data->field_name(0), "v");
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_GT(delivered.load(), 0);
  }
}

}  // namespace
}  // namespace hr::data
