#include "runtime/base/quick_mutex.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace hr {
namespace {

TEST(QuickMutex, OneHolderAtATime) {
  QuickMutex mutex;
  EXPECT_TRUE(mutex.try_lock());
  EXPECT_FALSE(mutex.try_lock());
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

// Some hold it for long, so that others sleep, and some let go at once.
TEST(QuickMutex, ManyThreadsWaitForIt) {
  constexpr int kThreads = 8, kTurns = 2000;
  QuickMutex mutex;
  int count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int turn = 0; turn < kTurns; ++turn) {
        const std::lock_guard lock(mutex);
        ++count;
        if (turn % 100 == i) std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, kThreads * kTurns);
}

TEST(QuickMutex, EverySleeperIsWoken) {
  constexpr int kThreads = 4;
  for (int round = 0; round < 50; ++round) {
    QuickMutex mutex;
    std::atomic<int> done{0};
    std::vector<std::thread> threads;
    mutex.lock();
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        const std::lock_guard lock(mutex);
        ++done;
      });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(done, 0);
    mutex.unlock();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(done, kThreads);
  }
}

}  // namespace
}  // namespace hr
