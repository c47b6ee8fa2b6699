#include "runtime/comm/ways.h"

#include <gtest/gtest.h>

namespace hr::comm {
namespace {

constexpr size_t kBytes = 1 << 20;

// How many of `count` messages of kBytes are lent, where each way takes so long.
int CountLent(Ways& ways, int count, int64_t streamed_nanos, int64_t lent_nanos) {
  int lent = 0;
  for (int i = 0; i < count; ++i) {
    const Way way = ways.Choose(kBytes);
    lent += way == Way::kLent;
    ways.Note(kBytes, way, way == Way::kLent ? lent_nanos : streamed_nanos);
  }
  return lent;
}

TEST(Ways, BothAreTriedAndTheFasterIsKept) {
  Ways ways;
  EXPECT_EQ(CountLent(ways, 8, 100, 200), 4);
  EXPECT_LE(CountLent(ways, 1000, 100, 200), 10);
  Ways others;
  EXPECT_GE(CountLent(others, 1000, 200, 100), 980);
}

TEST(Ways, WhatChangesIsNoticed) {
  Ways ways;
  CountLent(ways, 500, 100'000, 200'000);
  CountLent(ways, 1000, 100'000, 50'000);
  EXPECT_GE(CountLent(ways, 1000, 100'000, 50'000), 980);
}

TEST(Ways, OneSlowMessageSaysNothing) {
  Ways ways;
  CountLent(ways, 500, 100'000, 200'000);
  ways.Note(kBytes, Way::kStreamed, 10'000'000);
  EXPECT_LE(CountLent(ways, 100, 100'000, 200'000), 2);
}

TEST(Ways, SizesAreLearntApart) {
  Ways ways;
  CountLent(ways, 500, 100'000, 200'000);
  for (int i = 0; i < 20; ++i) {
    const Way way = ways.Choose(16 * kBytes);
    ways.Note(16 * kBytes, way, way == Way::kLent ? 100 : 200);
  }
  EXPECT_EQ(ways.Choose(16 * kBytes), Way::kLent);
  EXPECT_LE(CountLent(ways, 100, 100'000, 200'000), 2);
}

}  // namespace
}  // namespace hr::comm
