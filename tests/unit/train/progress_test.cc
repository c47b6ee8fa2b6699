#include "runtime/train/progress.h"

#include "tests/unit/train/test_support.h"

namespace hr::train {
namespace {

class ManualClock final : public Clock {
 public:
  int64_t NowNanos() const override { return static_cast<int64_t>(seconds * 1e9); }
  double seconds = 100;
};

const ProgressMetric kLoss[] = {{"loss", 0.41268}};

ProgressState HalfDone() {
  return {.label = "train",
          .done = 469,
          .total = 938,
          .seconds = 4,
          .resumed_from = 0,
          .items = 469 * 64,
          .item_name = "images",
          .metrics = kLoss};
}

TEST(RenderProgress, ShowsBarRateEtaAndMetrics) {
  EXPECT_EQ(RenderProgress(HalfDone(), 81, true),
            "train  [==========>         ]  50% 469/938  7,504 images/s  ETA 0:04  loss 0.4127");
  EXPECT_EQ(RenderProgress(HalfDone(), 1000, false),
            "train   50% 469/938  7,504 images/s  ETA 0:04  loss 0.4127");
}

TEST(RenderProgress, FitsNarrowTerminals) {
  for (int width = 0; width < 120; ++width) {
    EXPECT_LE(RenderProgress(HalfDone(), width, true).size(), static_cast<size_t>(width));
  }
  EXPECT_EQ(RenderProgress(HalfDone(), 30, true), "train   50% 469/938  7,504 ima");
}

TEST(RenderProgress, KnowsTheEndAndUnknownTotals) {
  ProgressState state = HalfDone();
  state.done = 938;
  EXPECT_TRUE(Contains(RenderProgress(state, 100, true), "100% 938/938"));
  EXPECT_TRUE(Contains(RenderProgress(state, 100, true), "  in 0:04"));
  state.total = -1;
  EXPECT_EQ(RenderProgress(state, 100, true), "train  938  7,504 images/s  loss 0.4127");
  EXPECT_EQ(RenderProgress({.label = "", .total = 0, .item_name = "", .metrics = {}}, 60, false),
            "100% 0/0  in 0:00");
}

TEST(RenderProgress, AResumedTrainingCountsItsOwnStepsOnly) {
  ProgressState state = HalfDone();
  state.resumed_from = 369;
  EXPECT_TRUE(Contains(RenderProgress(state, 100, true), "ETA 0:19")) << "100 steps in 4 s";
  state.seconds = 4000;
  EXPECT_TRUE(Contains(RenderProgress(state, 100, true), "ETA 5:12:40"));
}

TEST(RenderProgress, ShowsNoSpeedBeforeItIsMeasured) {
  ProgressState state = HalfDone();
  state.done = 1;
  state.items = 64;
  state.seconds = 3e-6;
  EXPECT_EQ(RenderProgress(state, 100, false), "train    0% 1/938  loss 0.4127");
  state.total = 1;
  EXPECT_EQ(RenderProgress(state, 100, false), "train  100% 1/1  in 0:00  loss 0.4127");
}

class ProgressTest : public testing::Test {
 protected:
  ~ProgressTest() override { std::fclose(file_); }
  ProgressOptions Options(bool terminal) {
    return {.out = file_,
            .terminal = terminal,
            .width = 60,
            .label = "train",
            .item_name = "images",
            .clock = &clock_};
  }
  std::string Written() {
    std::string text(4096, '\0');
    std::rewind(file_);
    text.resize(std::fread(text.data(), 1, text.size(), file_));
    return text;
  }
  std::FILE* file_ = std::tmpfile();
  ManualClock clock_;
};

TEST_F(ProgressTest, PlainLinesComeSeldomAfterTheFirst) {
  Progress progress(0, 4, Options(false));
  for (int64_t step = 1; step <= 4; ++step) {
    clock_.seconds += 6;
    progress.Update(step, 30, kLoss);
  }
  progress.Finish();
  progress.Finish();
  EXPECT_EQ(Written(),
            "train   25% 1/4  5 images/s  ETA 0:18  loss 0.4127\n"
            "train   75% 3/4  5 images/s  ETA 0:06  loss 0.4127\n"
            "train  100% 4/4  5 images/s  in 0:24  loss 0.4127\n");
}

TEST_F(ProgressTest, ATerminalIsRedrawn) {
  Progress progress(0, 2, Options(true));
  progress.Update(1, 30, {});  // too early
  clock_.seconds += 1;
  progress.Update(1, 30, {});
  progress.Message("saved");
  progress.Update(2, 60, {});
  progress.Finish();
  std::string half = "\rtrain  [=========>        ]  50% 1/2  60 images/s  ETA 0:01\x1b[K";
  EXPECT_EQ(Written(), half + "\rsaved\x1b[K\n" + half +
                           "\rtrain  [==================] 100% 2/2  120 images/s  in 0:01\x1b[K\n");
}

TEST_F(ProgressTest, AFileIsNoTerminal) {
  ProgressOptions options = Options(false);
  options.terminal.reset();
  { Progress progress(0, 1, options); }
  EXPECT_EQ(Written(), "train    0% 0/1\n");
}

}  // namespace
}  // namespace hr::train
