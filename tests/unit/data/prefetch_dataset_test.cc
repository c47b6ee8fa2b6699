#include "runtime/data/prefetch_dataset.h"

#include "tests/unit/data/memory_dataset.h"
#include "tests/unit/data/scripted_source.h"

namespace hr::data {
namespace {

using Int64s = std::vector<int64_t>;

class PrefetchTest : public DataTest {
 protected:
  std::unique_ptr<Dataset> Open(int64_t depth, int64_t repeat = 1) {
    auto source = CreateCallbackDataset(ScriptedFields(), source_.callbacks(), {.repeat = repeat},
                                        allocator_);
    return CreatePrefetchDataset(std::move(source).value(), depth).value();
  }
  void WaitForCalls(int calls) {
    for (int i = 0; i < 5000 && source_.calls.load() < calls; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_GE(source_.calls.load(), calls);
  }
  ScriptedSource source_;
};

TEST_F(PrefetchTest, DeliversTheSameInTheSameOrder) {
  for (int64_t depth : {1, 2, 7}) {
    source_.GoTo(0);
    auto data = Open(depth, 2);
    EXPECT_EQ(DrawValues(*data), (Int64s{0, 1, 2, 100, 101, 102})) << depth;
    EXPECT_TRUE(data->Done({}).value());
    HR_EXPECT_OK(data->Rewind({}));
    EXPECT_EQ(DrawValues(*data, 4), (Int64s{200, 201, 202, 300}));
  }
}

TEST_F(PrefetchTest, ReadsAheadNoMoreThanItsDepth) {
  source_.examples = source_.declared = 100;
  auto data = Open(3);
  EXPECT_EQ(source_.calls.load(), 0) << "starts on demand";
  EXPECT_EQ(DrawValues(*data, 1), Int64s{0});
  WaitForCalls(4);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(source_.calls.load(), 4);
}

TEST_F(PrefetchTest, DoneIsExact) {
  auto data = Open(2);
  std::vector<Tensor> out(1);
  int batches = 0;
  for (; !data->Done({}).value(); ++batches) EXPECT_TRUE(data->Next(out, {}).value());
  EXPECT_EQ(batches, 3);
  EXPECT_EQ(data->position()->epoch, 1);
  EXPECT_FALSE(data->Next(out, {}).value());
  EXPECT_TRUE(data->Done({}).value());
}

TEST_F(PrefetchTest, FailuresComeAtTheirPlace) {
  source_.fail_at = 2;
  auto data = Open(8);
  WaitForCalls(0);
  EXPECT_FALSE(data->Done({}).value());
  EXPECT_EQ(DrawValues(*data, 2), (Int64s{0, 1}));
  std::vector<Tensor> out(1);
  HR_EXPECT_ERROR(data->Next(out, {}), kUnavailable, "camera");
  EXPECT_EQ(data->position()->example, 2);
  EXPECT_EQ(DrawValues(*data), Int64s{2}) << "and reading goes on";
}

TEST_F(PrefetchTest, ThePositionCountsWhatWasDelivered) {
  Int64s expected{0, 1, 2, 100, 101, 102};
  for (size_t count = 0; count <= expected.size(); ++count) {
    source_.GoTo(0);
    auto first = Open(4, 2);
    DrawValues(*first, count);
    HR_EXPECT_OK(first->Done({}));  // several batches are in flight now
    std::string state = first->Save().value();
    first.reset();
    source_.GoTo(0);
    auto second = Open(2, 2);
    HR_EXPECT_OK(second->Done({}));
    HR_EXPECT_OK(second->Restore(state, {}));
    EXPECT_EQ(second->Save().value(), state);
    EXPECT_EQ(DrawValues(*second),
              Int64s(expected.begin() + static_cast<int64_t>(count), expected.end()));
  }
}

TEST_F(PrefetchTest, WaitingCanBeCancelledAndLimited) {
  source_.block = true;
  auto data = Open(2);
  std::vector<Tensor> out(1);
  CallLimits limits;
  limits.clock = &SystemClock();
  limits.deadline_nanos = SystemClock().NowNanos() + 10'000'000;
  HR_EXPECT_ERROR(data->Next(out, limits), kDeadlineExceeded, "");
  CancelToken token;
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    token.Cancel();
  });
  HR_EXPECT_ERROR(data->Next(out, {.cancel = &token}), kCancelled, "");
  canceller.join();
  source_.block = false;
  EXPECT_EQ(DrawValues(*data), (Int64s{0, 1, 2})) << "nothing was lost";
}

TEST_F(PrefetchTest, LimitsEndEveryWait) {
  auto data = Open(2, 3);
  auto limits = [] {
    return CallLimits{.deadline_nanos = SystemClock().NowNanos() + 10'000'000,
                      .clock = &SystemClock()};
  };
  EXPECT_EQ(DrawValues(*data, 3), (Int64s{0, 1, 2}));
  HR_EXPECT_OK(data->Seek({.example = 1, .size = 3}, {}));
  source_.block = true;
  const std::string before = data->Save().value();
  HR_EXPECT_ERROR(data->Done(limits()), kDeadlineExceeded, "");  // the thread waits for the host
  HR_EXPECT_ERROR(data->Rewind(limits()), kDeadlineExceeded, "");
  HR_EXPECT_ERROR(data->Seek({.epoch = 2, .size = 3}, limits()), kDeadlineExceeded, "");
  EXPECT_EQ(data->Save().value(), before);
  HR_EXPECT_OK(data->Restore(before, {}));  // nothing to wait for
  source_.block = false;
  EXPECT_EQ(DrawValues(*data, 3), (Int64s{1, 2, 100})) << "nothing was lost";
  HR_EXPECT_OK(data->Rewind({}));
  EXPECT_EQ(DrawValues(*data, 2), (Int64s{200, 201}));
}

TEST_F(PrefetchTest, ASeekThatIsRefusedLosesNothing) {
  DatasetCallbacks once = source_.callbacks();
  once.seek = nullptr;
  auto source = CreateCallbackDataset(ScriptedFields(), once, {}, allocator_);
  auto data = CreatePrefetchDataset(std::move(source).value(), 2).value();
  EXPECT_FALSE(data->Done({}).value());
  HR_EXPECT_OK(data->Rewind({}));  // nothing was delivered, so nothing changes
  EXPECT_EQ(DrawValues(*data, 1), Int64s{0});
  WaitForCalls(3);  // the others wait in the ring
  HR_EXPECT_ERROR(data->Rewind({}), kFailedPrecondition, "no seek function");
  EXPECT_EQ(DrawValues(*data), (Int64s{1, 2}));
}

TEST_F(PrefetchTest, MayBeDestroyedAtAnyMoment) {
  for (int round = 0; round < 50; ++round) {
    source_.GoTo(0);
    source_.examples = source_.declared = 20;
    auto data = Open(1 + round % 4);
    DrawValues(*data, static_cast<size_t>(round % 7));
    if (round % 2 == 0) HR_EXPECT_OK(data->Done({}));
  }
  EXPECT_EQ(source_.released, 50);
}

TEST_F(PrefetchTest, RecyclesMemory) {
  std::vector<int64_t> values(64);
  Tensor tensor = MakeTensor<int64_t>(allocator_, {64}, values).value();
  auto source = CreateMemoryDataset(
      {ColumnOf("v", tensor)}, {.batch = 4, .shuffle = true, .repeat = kRepeatForever}, allocator_);
  auto data = CreatePrefetchDataset(std::move(source).value(), 2).value();
  std::vector<Tensor> out(1);
  for (int i = 0; i < 500; ++i) EXPECT_TRUE(data->Next(out, {}).value());
  EXPECT_LE(allocator_.allocations(), 2 + 5);
}

TEST_F(PrefetchTest, RefusesADepthWithoutSense) {
  for (int64_t depth : {int64_t{-1}, int64_t{0}, int64_t{1} << 40}) {
    auto source = CreateCallbackDataset(ScriptedFields(), source_.callbacks(), {}, allocator_);
    HR_EXPECT_ERROR(CreatePrefetchDataset(std::move(source).value(), depth), kInvalidArgument,
                    "1 to 1024");
  }
}

}  // namespace
}  // namespace hr::data
