#include "runtime/base/ticks.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace hr {
namespace {

TEST(TickCounter, TurnsTicksIntoTheClocksTime) {
  const TickCounter counter;
  const int64_t before = SystemClock().NowNanos();
  const uint64_t ticks = counter.Now();
  const int64_t after = SystemClock().NowNanos();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const int64_t nanos = counter.ScaleNow().Nanos(ticks);
  constexpr int64_t kSlack = 100'000;  // a thread may lose its processor between two readings
  EXPECT_GE(nanos, before - kSlack);
  EXPECT_LE(nanos, after + kSlack);
}

TEST(TickCounter, KeepsTheOrder) {
  const TickCounter counter;
  const uint64_t first = counter.Now(), second = counter.Now();
  const TickCounter::Scale scale = counter.ScaleNow();
  EXPECT_LE(first, second);
  EXPECT_LE(scale.Nanos(first), scale.Nanos(second));
}

}  // namespace
}  // namespace hr
