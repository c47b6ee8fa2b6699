#include "runtime/comm/background_log.h"

#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace hr::comm {
namespace {

// Keeps what it is told, and hangs at the first message until it is let go.
struct SlowSink final : LogSink {
  void Write(LogLevel level, std::string_view message) override {
    if (texts.empty()) {
      entered.set_value();
      go_on.get_future().wait();
    }
    levels.push_back(level);
    texts.emplace_back(message);
  }
  std::promise<void> entered, go_on;
  std::vector<LogLevel> levels;
  std::vector<std::string> texts;
};

TEST(BackgroundLog, KeepsTheOrderAndSaysWhatWasDropped) {
  SlowSink sink;
  {
    BackgroundLog log(sink, std::make_shared<WorkerThreads>());
    log.Write(LogLevel::kError, "first");
    sink.entered.get_future().wait();
    for (int i = 0; i < 1005; ++i) log.Write(LogLevel::kInfo, std::to_string(i));
    sink.go_on.set_value();
  }
  ASSERT_EQ(sink.texts.size(), 1002);
  EXPECT_EQ(sink.levels.front(), LogLevel::kError);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(sink.texts[i + 1], std::to_string(i));
  EXPECT_EQ(sink.levels.back(), LogLevel::kWarning);
  EXPECT_EQ(sink.texts.back().find("5 messages were dropped"), 0);
}

}  // namespace
}  // namespace hr::comm
