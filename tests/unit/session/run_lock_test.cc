#include "runtime/session/run_lock.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace hr::session {
namespace {

TEST(RunLock, ReadersShareAndAWriterExcludes) {
  RunLock lock;
  int value = 0;
  std::atomic<int> readers{0};
  std::atomic<int> most{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, writer = i % 4 == 0] {
      for (int round = 0; round < 2000; ++round) {
        ASSERT_TRUE(lock.Lock(writer, {}).ok());
        if (writer) {
          EXPECT_EQ(readers.load(), 0);
          ++value;
        } else {
          int now = readers.fetch_add(1) + 1;
          if (now > most.load()) most = now;
          if (round % 16 == 0) std::this_thread::yield();
          readers.fetch_sub(1);
        }
        lock.Unlock(writer);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(value, 2 * 2000);
  EXPECT_GT(most.load(), 1) << "no two readers were ever inside together";
}

TEST(RunLock, WaitingEndsWithItsLimits) {
  RunLock lock;
  ASSERT_TRUE(lock.TryLock(true));
  RunGuard held(lock, true);
  CancelToken token;
  std::thread waiting([&] {
    Status status = lock.Lock(false, {.cancel = &token});
    EXPECT_EQ(status.code(), Code::kCancelled);
    EXPECT_NE(status.message().find("waiting for other runs"), std::string_view::npos);
  });
  token.Cancel();
  waiting.join();
  CallLimits soon{.deadline_nanos = SystemClock().NowNanos() + 5'000'000, .clock = &SystemClock()};
  EXPECT_EQ(lock.Lock(true, soon).code(), Code::kDeadlineExceeded);
}

// Readers let a waiting writer go first; when it gives up they must not go on waiting.
TEST(RunLock, AWriterThatGivesUpLetsReadersIn) {
  RunLock lock;
  ASSERT_TRUE(lock.Lock(false, {}).ok());
  CancelToken token;
  std::thread writer(
      [&] { EXPECT_EQ(lock.Lock(true, {.cancel = &token}).code(), Code::kCancelled); });
  CallLimits now{.deadline_nanos = 0, .clock = &SystemClock()};
  while (lock.Lock(false, now).ok()) lock.Unlock(false);  // until the writer waits
  std::thread reader([&] {
    ASSERT_TRUE(lock.Lock(false, {}).ok());
    lock.Unlock(false);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_TRUE(lock.Lock(false, {}, true).ok()) << "an urgent reader let the writer go first";
  lock.Unlock(false);
  token.Cancel();
  writer.join();
  reader.join();
  lock.Unlock(false);
}

}  // namespace
}  // namespace hr::session
