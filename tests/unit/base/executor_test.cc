#include "runtime/base/executor.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

namespace hr {
namespace {

TEST(Executor, RunsEveryTaskOnce) {
  auto pool = CreateThreadPool(4).value();
  ThreadBudget budget(*pool);
  Lease lease = budget.Acquire(4, {}).value();
  for (int round = 0; round < 2000; ++round) {
    const int tasks = std::array{2, 3, 37, 64, 65, 200}[round % 6];
    std::vector<std::atomic<int>> counts(tasks);
    lease.ParallelFor(tasks, [&](int task) { counts[task].fetch_add(1); });
    for (auto& count : counts) ASSERT_EQ(count.load(), 1);
  }
}

TEST(ThreadBudget, NeverExceeded) {
  auto pool = CreateThreadPool(3).value();
  ThreadBudget budget(*pool);
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  std::vector<std::thread> hosts;
  for (int i = 0; i < 8; ++i) {
    hosts.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        Lease lease = budget.Acquire(2, {}).value();
        lease.ParallelFor(4, [&](int) {
          int now = running.fetch_add(1) + 1;
          int seen = most.load();
          while (now > seen && !most.compare_exchange_weak(seen, now)) {
          }
          running.fetch_sub(1);
        });
      }
    });
  }
  for (auto& host : hosts) host.join();
  EXPECT_LE(most.load(), 3);
}

TEST(ThreadBudget, ThoseWhoWaitShare) {
  auto pool = CreateThreadPool(4).value();
  ThreadBudget budget(*pool);
  auto all = std::make_unique<Lease>(budget.Acquire(4, {}).value());
  EXPECT_EQ(all->threads(), 4);
  std::atomic<int> inside{0};
  std::vector<std::thread> hosts;
  for (int i = 0; i < 2; ++i) {
    hosts.emplace_back([&] {
      Lease lease = budget.Acquire(4, {}).value();
      inside.fetch_add(1);
      while (inside.load() < 2) std::this_thread::yield();  // both at one time
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  all.reset();
  for (auto& host : hosts) host.join();
}

// Whoever takes threads again as soon as it has given them back does not keep others waiting.
TEST(ThreadBudget, NobodyWaitsForEver) {
  auto pool = CreateThreadPool(2).value();
  ThreadBudget budget(*pool);
  std::atomic<bool> done{false};
  std::atomic<int> leases{0};
  std::atomic<int> waiting{0};
  std::atomic<int> overtaken{0};  // leases of the others while somebody waited
  std::vector<std::thread> greedy;
  for (int i = 0; i < 2; ++i) {
    greedy.emplace_back([&] {
      while (!done.load()) {
        Lease lease = budget.Acquire(1, {}).value();
        ++leases;
        overtaken += waiting.load();
        const int64_t until = SystemClock().NowNanos() + 200'000;
        while (SystemClock().NowNanos() < until) {
        }
      }
    });
  }
  for (int round = 0; round < 50; ++round) {
    const int before = leases.load();
    while (leases.load() < before + 4) std::this_thread::yield();
    waiting = 1;
    const Lease lease = budget.Acquire(1, {}).value();
    waiting = 0;
  }
  done = true;
  for (auto& thread : greedy) thread.join();
  EXPECT_LE(overtaken.load(), 50 * 12);
}

TEST(ThreadBudget, WaitingObeysLimits) {
  auto pool = CreateThreadPool(1).value();
  ThreadBudget budget(*pool);
  Lease all = budget.Acquire(1, {}).value();
  CallLimits limits;
  limits.clock = &SystemClock();
  limits.deadline_nanos = SystemClock().NowNanos() + 20'000'000;
  EXPECT_EQ(budget.Acquire(1, limits).status().code(), Code::kDeadlineExceeded);
  CancelToken token;
  token.Cancel();
  EXPECT_EQ(budget.Acquire(1, {.cancel = &token}).status().code(), Code::kCancelled);
}

// A function of the host gets the threads of the run that has called it, on its thread only.
TEST(HostScope, LendsTheThreadsOfItsRun) {
  auto pool = CreateThreadPool(3).value();
  ThreadBudget budget(*pool);
  const int outer = 0, inner = 0, other = 0;  // for their addresses
  Lease all = budget.Acquire(3, {}, &outer).value();
  Lease none;
  EXPECT_FALSE(budget.TryAcquire(3, &inner, &none));
  EXPECT_FALSE(budget.IsInside());
  {
    const HostScope scope(all, 3);
    Lease lent = budget.Acquire(2, {}, &inner).value();
    EXPECT_EQ(lent.threads(), 2);
    EXPECT_TRUE(budget.IsInside(&outer));
    EXPECT_FALSE(budget.IsInside(&inner));
    std::thread([&] {
      EXPECT_FALSE(budget.IsInside() || budget.TryAcquire(1, nullptr, &none));
    }).join();
    // A task of the inner run, wherever it runs, has one thread and is inside of both.
    std::thread([&] {
      const HostScope task(lent, 1);
      EXPECT_EQ(budget.Acquire(3, {})->threads(), 1);
      EXPECT_TRUE(budget.IsInside(&outer) && budget.IsInside(&inner));
      EXPECT_FALSE(budget.IsInside(&other));
    }).join();
  }
  EXPECT_FALSE(budget.IsInside() || budget.TryAcquire(1, nullptr, &none));
  all = Lease();
  EXPECT_EQ(budget.Acquire(3, {})->threads(), 3);  // what was lent was given back once
}

// Another executor in between changes neither whose threads they are nor who gives them back.
TEST(HostScope, KnowsALeaseThroughAnotherExecutor) {
  auto pool = CreateThreadPool(2).value();
  ThreadBudget budget(*pool);
  const int user = 0;
  Lease all = budget.Acquire(2, {}, &user).value();
  {
    const Lease through = all.Through(*pool);
    EXPECT_EQ(through.threads(), 2);
    const HostScope scope(through, through.threads());
    EXPECT_TRUE(budget.IsInside(&user));
  }
  Lease none;
  EXPECT_FALSE(budget.TryAcquire(1, nullptr, &none));
}

}  // namespace
}  // namespace hr
