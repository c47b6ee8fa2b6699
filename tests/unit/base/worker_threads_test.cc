#include "runtime/base/worker_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <optional>
#include <thread>

namespace hr {
namespace {

TEST(WorkerThreads, ATaskThatHangsDelaysNoOther) {
  std::promise<void> open;
  std::shared_future<void> opened = open.get_future().share();
  std::atomic<int> done = 0;
  {
    WorkerThreads threads(20);
    for (int i = 0; i < 19; ++i) {
      threads.Add([&] {
        opened.wait();
        ++done;
      });
    }
    std::promise<void> ran;
    threads.Add([&] { ran.set_value(); });
    ran.get_future().wait();
    EXPECT_EQ(done, 0);
    open.set_value();
  }
  EXPECT_EQ(done, 19);  // the end has waited for them
}

TEST(WorkerThreads, AtMostSoManyRunAtOneTime) {
  std::atomic<int> running = 0, most = 0, done = 0;
  {
    WorkerThreads threads(3);
    for (int i = 0; i < 200; ++i) {
      threads.Add([&] {
        const int now = ++running;
        int seen = most;
        while (now > seen && !most.compare_exchange_weak(seen, now)) {
        }
        std::this_thread::yield();
        --running;
        ++done;
      });
    }
  }
  EXPECT_EQ(done, 200);
  EXPECT_LE(most, 3);
}

TEST(WorkerThreads, MayGoOnOneOfItsOwn) {
  std::promise<void> rest;
  auto* threads = new WorkerThreads(1);
  threads->Add([&] {
    threads->Add([&] { rest.set_value(); });
    delete threads;
  });
  rest.get_future().wait();  // what was left has run
}

}  // namespace
}  // namespace hr
