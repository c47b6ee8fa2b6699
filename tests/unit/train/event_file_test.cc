// Bytes of event files; tests/train/tensorboard_test.py reads them with TensorBoard itself.
#include "runtime/train/event_file.h"

#include <signal.h>
#include <sys/resource.h>

#include <thread>

#include "tests/unit/train/test_support.h"

namespace hr::train {
namespace {

using namespace std::string_literals;

class ManualClock final : public Clock {
 public:
  int64_t NowNanos() const override { return nanos; }
  int64_t nanos = 0;
};

class EventFileTest : public TrainTest {
 protected:
  std::unique_ptr<EventWriter> Open() {
    EventOptions options{
        .flush_seconds = 5, .host = "box", .now = [] { return 1.0; }, .clock = &clock_};
    return EventWriter::Open(folder_.Path("events"), options).value();
  }
  ManualClock clock_;
};

// Every event begins with the wall time 1.0.
const std::string kWallTime = "\x09\0\0\0\0\0\0\xf0\x3f"s;

// The record of the scalar "loss" of 0.5.
std::string HalfLossAt(char step) {
  std::string value = "\x15\0\0\0\x3f"s + "\x0a\x04" + "loss";
  return FrameRecord(kWallTime + "\x10" + step + "\x2a\x0d" + "\x0a\x0b" + value);
}

TEST_F(EventFileTest, BeginsWithTheVersion) {
  auto events = Open();
  EXPECT_EQ(events->path(), folder_.Path("events/events.out.tfevents.0000000001.box"));
  EXPECT_EQ(ReadFile(events->path()).value(),
            FrameRecord(kWallTime + "\x1a\x0d" + "brain.Event:2"));
}

TEST_F(EventFileTest, WritesScalars) {
  auto events = Open();
  int64_t before = FileSize(events->path()).value();
  HR_EXPECT_OK(events->AddScalar("loss", 3, 0.5));
  HR_EXPECT_OK(events->Flush());
  EXPECT_EQ(ReadFile(events->path())->substr(static_cast<size_t>(before)), HalfLossAt(3));
}

TEST_F(EventFileTest, FlushesByTimeAndAtTheEnd) {
  auto events = Open();
  std::string path = events->path();
  auto size = [&] { return FileSize(path).value(); };
  int64_t before = size();
  HR_EXPECT_OK(events->AddScalar("a", 1, 1));
  EXPECT_EQ(size(), before);
  clock_.nanos += 6'000'000'000;
  HR_EXPECT_OK(events->AddScalar("a", 2, 1));
  int64_t both = size();
  EXPECT_GT(both, before);
  HR_EXPECT_OK(events->AddScalar("a", 3, 1));
  EXPECT_EQ(size(), both);
  events.reset();
  EXPECT_GT(size(), both);
}

TEST_F(EventFileTest, NeverContinuesAnotherFile) {
  auto first = Open();
  auto second = Open();
  EXPECT_EQ(second->path(), first->path() + ".1");
}

TEST_F(EventFileTest, RefusesWhatTensorBoardCouldNotRead) {
  auto events = Open();
  int64_t before = FileSize(events->path()).value();
  HR_EXPECT_ERROR(events->AddScalar("\xff", 1, 1), kInvalidArgument, "UTF-8");
  HR_EXPECT_ERROR(events->AddScalar("", 1, 1), kInvalidArgument, "empty");
  HR_EXPECT_ERROR(events->AddHistogram("h", 1, Tensor()), kInvalidArgument, "");
  HR_EXPECT_ERROR(events->AddImages("i", 1, Tensor()), kInvalidArgument, "");
  HR_EXPECT_ERROR(events->AddText("t", 1, "\xff"), kInvalidArgument, "UTF-8");
  std::vector<EventGraphNode> twice(2, {.name = "a",
                                        .op = "Add",
                                        .inputs = {},
                                        .device = {},
                                        .attributes = {},
                                        .output_shapes = {}});
  HR_EXPECT_ERROR(events->AddGraph(twice), kInvalidArgument, "named 'a'");
  twice[1].name = "";
  HR_EXPECT_ERROR(events->AddGraph(twice), kInvalidArgument, "needs a name");
  HR_EXPECT_OK(events->Flush());
  EXPECT_EQ(FileSize(events->path()).value(), before);
}

TEST_F(EventFileTest, AFullDiskLosesNothingThatFitsLater) {
  auto events = Open();
  int64_t before = FileSize(events->path()).value();
  rlimit old;
  getrlimit(RLIMIT_FSIZE, &old);
  auto handler = signal(SIGXFSZ, SIG_IGN);
  rlimit limit{static_cast<rlim_t>(before) + 10, old.rlim_max};
  HR_EXPECT_OK(events->AddScalar("loss", 1, 0.5));
  setrlimit(RLIMIT_FSIZE, &limit);
  Status status = events->Flush();
  setrlimit(RLIMIT_FSIZE, &old);
  signal(SIGXFSZ, handler);
  HR_EXPECT_ERROR(status, kResourceExhausted, events->path());
  HR_EXPECT_OK(events->Flush());
  EXPECT_EQ(ReadFile(events->path())->substr(static_cast<size_t>(before)), HalfLossAt(1));
}

TEST_F(EventFileTest, TakesEventsFromManyThreads) {
  auto events = Open();
  int64_t before = FileSize(events->path()).value();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) HR_EXPECT_OK(events->AddScalar("x", 1, 0.5));
    });
  }
  for (std::thread& thread : threads) thread.join();
  HR_EXPECT_OK(events->Flush());
  std::string value = "\x15\0\0\0\x3f"s + "\x0a\x01x";
  std::string frame = FrameRecord(kWallTime + "\x10\x01" + "\x2a\x0a" + "\x0a\x08" + value);
  EXPECT_EQ(FileSize(events->path()).value() - before, static_cast<int64_t>(400 * frame.size()));
}

}  // namespace
}  // namespace hr::train
