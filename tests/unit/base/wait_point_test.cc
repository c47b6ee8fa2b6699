#include "runtime/base/wait_point.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace hr {
namespace {

bool Never() { return false; }

TEST(WaitPoint, EndsWhenReady) {
  WaitPoint point;
  bool ready = false;
  std::thread other([&] {
    {
      std::lock_guard lock(point.mutex());
      ready = true;
    }
    point.NotifyAll();
  });
  EXPECT_TRUE(point.Wait({}, [&] { return ready; }).ok());
  other.join();
}

// Nobody notifies and there is no deadline: only the token can end these waits.
TEST(WaitPoint, CancellingWakesEverybodyAtOnce) {
  CancelToken token;
  WaitPoint points[2];
  std::atomic<int> waiting{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      Status status = points[i % 2].Wait({.cancel = &token}, [&] {
        waiting.fetch_add(1);
        return false;
      });
      EXPECT_EQ(status.code(), Code::kCancelled);
    });
  }
  while (waiting.load() < 6) std::this_thread::yield();
  token.Cancel();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(points[0].Wait({.cancel = &token}, Never).code(), Code::kCancelled);
}

TEST(WaitPoint, DeadlinesEndWaits) {
  WaitPoint point;
  int64_t begin = SystemClock().NowNanos();
  CallLimits limits{.deadline_nanos = begin + 20'000'000, .clock = &SystemClock()};
  EXPECT_EQ(point.Wait(limits, Never).code(), Code::kDeadlineExceeded);
  EXPECT_GE(SystemClock().NowNanos() - begin, 20'000'000);
}

class JumpingClock final : public Clock {
 public:
  int64_t NowNanos() const override { return now.load(); }
  std::atomic<int64_t> now{0};
};

TEST(WaitPoint, AHostsClockMayJump) {
  JumpingClock clock;
  WaitPoint point;
  std::thread host([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    clock.now = INT64_MAX / 2;
  });
  CallLimits limits{.deadline_nanos = 3'600'000'000'000, .clock = &clock};
  EXPECT_EQ(point.Wait(limits, Never).code(), Code::kDeadlineExceeded);
  host.join();
}

// The host may run what notifies the very point at which it is asked.
TEST(WaitPoint, AsksWithoutTheMutex) {
  WaitPoint point;
  struct Host {
    WaitPoint& point;
    int asked = 0;
  } host{point};
  auto ask = [](void* context) {
    auto& host = *static_cast<Host*>(context);
    bool free = false;
    std::thread([&] {
      free = host.point.mutex().try_lock();
      if (free) host.point.mutex().unlock();
    }).join();
    EXPECT_TRUE(free) << "a notification would wait forever";
    if (free) host.point.NotifyAll();
    return ++host.asked == 2 ? 1 : 0;
  };
  const CallLimits limits{.interrupted = ask, .context = &host};
  EXPECT_EQ(point.Wait(limits, Never).code(), Code::kCancelled);
  EXPECT_EQ(host.asked, 2);
}

TEST(CancelWake, IsCalledWhileItLives) {
  CancelToken token;
  int calls[3] = {};
  auto count = [](void* calls) { ++*static_cast<int*>(calls); };
  CancelWake first(&token, count, &calls[0]);
  {
    CancelWake second(&token, count, &calls[1]);
    CancelWake third(&token, count, &calls[2]);
    CancelWake none(nullptr, count, nullptr);
    token.Cancel();
  }
  token.Cancel();
  EXPECT_EQ(calls[0], 2);
  EXPECT_EQ(calls[1], 1);
  EXPECT_EQ(calls[2], 1);
}

TEST(CancelWake, ManyThreadsComeAndGo) {
  CancelToken token;
  WaitPoint point;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!stop) point.Wait({.cancel = &token}, Never).IgnoreError();
    });
  }
  for (int i = 0; i < 2000; ++i) token.Cancel();
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace hr
